//! A convolution along the sequence that keeps the columns apart: the first half of a separable convolution.  Chollet 2017,
//! "Xception: Deep Learning with Depthwise Separable Convolutions".

use rayon::prelude::*;
use wordloom::graph::{
    Access, CpuRun, Dispatch, Dtype, Field, GraphError, Kernel, Lowering, Operator, Rows, Shape, Value, fold,
    stride,
};

use super::builder::Builder;
use super::unfold::offsets;

#[derive(Debug)]
struct Depthwise {
    x: Value,
    /// `[kernel, width]`
    weight: Rows,
    y: Value,
}

/// Adds `y[i] = Σ w[j] ⊙ x[i + j - kernel / 2]`, with zeros beyond the ends.
pub fn depthwise(builder: &mut Builder, x: Value, kernel: usize) -> Result<Value, GraphError> {
    let shape = builder.graph.shape(x);
    let weight = builder.rows("depthwise", kernel, shape.width);
    let y = builder.graph.value("depthwise", shape, Dtype::F32)?;
    builder.push(Depthwise { x, weight, y }, kernel as u128 * shape.rows as u128 * shape.width as u128);
    Ok(y)
}

static KERNEL: Kernel = Kernel {
    name: "bench_depthwise",
    wgsl: &["
        struct Params { rows: u32, kernel: u32, stride: u32 }
        @group(0) @binding(0) var<storage, read>       x: array<f32>;
        @group(0) @binding(1) var<storage, read>       w: array<f32>;
        @group(0) @binding(2) var<storage, read_write> y: array<f32>;
        @group(1) @binding(0) var<uniform> p: Params;

        @compute @workgroup_size(64)
        fn main(
            @builtin(workgroup_id) group: vec3<u32>,
            @builtin(num_workgroups) groups: vec3<u32>,
            @builtin(local_invocation_index) lane: u32,
        ) {
            let index = (group.y * groups.x + group.x) * 64u + lane;
            let row = index / p.stride;
            let column = index % p.stride;
            if (row >= p.rows) { return; }
            var sum = 0.0;
            for (var j = group.z; j < p.kernel; j++) {
                let origin = i32(row + j) - i32(p.kernel / 2u);
                if (origin >= 0 && origin < i32(p.rows)) {
                    sum += w[j * p.stride + column] * x[u32(origin) * p.stride + column];
                }
            }
            y[index] = sum;
        }"],
    storage: &[Access::Read, Access::Read, Access::Write],
    params: &[
        Field { name: "rows", dtype: "u32", offset: 0 },
        Field { name: "kernel", dtype: "u32", offset: 4 },
        Field { name: "stride", dtype: "u32", offset: 8 },
    ],
};

impl Operator for Depthwise {
    fn name(&self) -> &'static str {
        "depthwise"
    }

    fn reads(&self) -> Vec<Value> {
        vec![self.x]
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.y]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let Shape { rows, width } = to.shape(self.x);
        let params = [rows, self.weight.rows, stride(width)].map(|number| number as u32);
        let dispatch = Dispatch::new(&KERNEL, Vec::new(), &params, fold(rows * stride(width), 64));
        to.launch(dispatch, vec![self.x.into(), self.weight.into(), self.y.into()]);
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        let Shape { rows, width } = run.shape(self.x);
        run.write([self.y], |run, [y]| {
            let (x, weight) = (run.f32(self.x), run.rows(self.weight));
            y.par_chunks_exact_mut(width).enumerate().for_each(|(row, y)| {
                y.fill(0.0);
                for (offset, weight) in offsets(self.weight.rows).zip(weight.chunks_exact(width)) {
                    let Some(from) = row.checked_add_signed(offset).filter(|&from| from < rows) else {
                        continue;
                    };
                    for ((y, w), x) in y.iter_mut().zip(weight).zip(&x[from * width..][..width]) {
                        *y += w * x;
                    }
                }
            });
        });
    }
}
