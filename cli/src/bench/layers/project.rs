//! Attention to projected keys and values: Linformer, with projections along the length as if they were learned. Wang et al.
//! 2020, equation (7): `softmax(Q (E K)ᵀ / √d) F V`, with E, F `[k, n]`. One projection serves keys and values of all heads,
//! which the paper's section 4 calls key-value sharing.

use rayon::prelude::*;
use wordloom::graph::{
    Access, Columns, CpuRun, Dispatch, Dtype, Field, GraphError, Kernel, Lowering, Operator, Rows, Shape,
    Value, fold, stride,
};
use wordloom::ops::ScoreFunction;

use super::builder::Builder;

/// Projected keys.
const PROJECTED: usize = 128;

pub fn linformer(builder: &mut Builder) -> Result<Value, GraphError> {
    let [queries, keys, values] = builder.qkv();
    let count = PROJECTED.min(builder.size.length);
    let value = project(builder, keys.value, count)?;
    let [keys, values] = [keys, values].map(|columns| Columns { value, ..columns });
    builder.attend(ScoreFunction::Product, [queries, keys, values], count)
}

#[derive(Debug)]
struct Project {
    x: Value,
    /// `[projected, rows]`
    weight: Rows,
    y: Value,
}

/// Adds `y = E x`, `[projected, width]`.
fn project(builder: &mut Builder, x: Value, projected: usize) -> Result<Value, GraphError> {
    let Shape { rows, width } = builder.graph.shape(x);
    let weight = builder.rows("projection", projected, rows);
    let y = builder.graph.value("project", Shape::new(projected, width), Dtype::F32)?;
    builder.push(Project { x, weight, y }, (projected * rows) as u128 * width as u128);
    Ok(y)
}

/// An invocation has four columns of four rows of the result.
static KERNEL: Kernel = Kernel {
    name: "bench_project",
    wgsl: &["
        struct Params { rows: u32, projected: u32, quads: u32, weight_stride: u32 }
        @group(0) @binding(0) var<storage, read>       x: array<vec4<f32>>;
        @group(0) @binding(1) var<storage, read>       w: array<f32>;
        @group(0) @binding(2) var<storage, read_write> y: array<vec4<f32>>;
        @group(1) @binding(0) var<uniform> p: Params;

        @compute @workgroup_size(64)
        fn main(
            @builtin(workgroup_id) group: vec3<u32>,
            @builtin(num_workgroups) groups: vec3<u32>,
            @builtin(local_invocation_index) lane: u32,
        ) {
            let index = (group.y * groups.x + group.x) * 64u + lane;
            let quad = index % p.quads;
            let first = index / p.quads * 4u;
            if (first >= p.projected) { return; }
            let last = p.projected - 1u;
            let starts = min(vec4(first) + vec4(0u, 1u, 2u, 3u), vec4(last)) * p.weight_stride;
            var a = vec4(0.0);
            var b = vec4(0.0);
            var c = vec4(0.0);
            var d = vec4(0.0);
            for (var row = group.z; row < p.rows; row++) {
                let value = x[row * p.quads + quad];
                a = fma(vec4(w[starts.x + row]), value, a);
                b = fma(vec4(w[starts.y + row]), value, b);
                c = fma(vec4(w[starts.z + row]), value, c);
                d = fma(vec4(w[starts.w + row]), value, d);
            }
            y[first * p.quads + quad] = a;
            if (first < last) { y[(first + 1u) * p.quads + quad] = b; }
            if (first + 1u < last) { y[(first + 2u) * p.quads + quad] = c; }
            if (first + 2u < last) { y[(first + 3u) * p.quads + quad] = d; }
        }"],
    storage: &[Access::Read, Access::Read, Access::Write],
    params: &[
        Field { name: "rows", dtype: "u32", offset: 0 },
        Field { name: "projected", dtype: "u32", offset: 4 },
        Field { name: "quads", dtype: "u32", offset: 8 },
        Field { name: "weight_stride", dtype: "u32", offset: 12 },
    ],
};

impl Operator for Project {
    fn name(&self) -> &'static str {
        "project"
    }

    fn reads(&self) -> Vec<Value> {
        vec![self.x]
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.y]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let Shape { rows, width } = to.shape(self.x);
        let (projected, quads) = (self.weight.rows, stride(width) / 4);
        let params = [rows, projected, quads, stride(rows)].map(|number| number as u32);
        let groups = fold(projected.div_ceil(4) * quads, 64);
        let dispatch = Dispatch::new(&KERNEL, Vec::new(), &params, groups);
        to.launch(dispatch, vec![self.x.into(), self.weight.into(), self.y.into()]);
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        /// Rows of the result that share reads of x.
        const TOGETHER: usize = 16;
        let Shape { rows, width } = run.shape(self.x);
        run.write([self.y], |run, [y]| {
            let (x, weight) = (run.f32(self.x), run.rows(self.weight));
            y.par_chunks_mut(TOGETHER * width).zip(weight.par_chunks(TOGETHER * rows)).for_each(
                |(y, weight)| {
                    y.fill(0.0);
                    for (row, x) in x.chunks_exact(width).enumerate() {
                        for (y, weight) in y.chunks_exact_mut(width).zip(weight.chunks_exact(rows)) {
                            y.iter_mut().zip(x).for_each(|(y, x)| *y += weight[row] * x);
                        }
                    }
                },
            );
        });
    }
}
