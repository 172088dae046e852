//! The neighbours of each token side by side: a linear layer of them is a convolution along the sequence.

use std::ops::RangeInclusive;

use rayon::prelude::*;
use wordloom::graph::{
    Access, CpuRun, Dispatch, Dtype, Field, GraphError, Kernel, Lowering, Operator, Shape, Value, fold,
    stride,
};

use super::builder::Builder;

/// Tokens that a convolution of `kernel` tokens reads, from a token.
pub fn offsets(kernel: usize) -> RangeInclusive<isize> {
    let half = (kernel / 2) as isize;
    -half..=kernel as isize - 1 - half
}

#[derive(Debug)]
struct Unfold {
    x: Value,
    kernel: usize,
    y: Value,
}

/// Adds the operator; returns `[rows, kernel * width]` of `x`, `[rows, width]`, with zeros beyond the ends.
pub fn unfold(builder: &mut Builder, x: Value, kernel: usize) -> Result<Value, GraphError> {
    let Shape { rows, width } = builder.graph.shape(x);
    let y = builder.graph.value("unfold", Shape::new(rows, kernel * width), Dtype::F32)?;
    builder.push(Unfold { x, kernel, y }, 0);
    Ok(y)
}

static KERNEL: Kernel = Kernel {
    name: "bench_unfold",
    wgsl: &["
        struct Params { rows: u32, width: u32, kernel: u32, x_stride: u32, y_stride: u32 }
        @group(0) @binding(0) var<storage, read>       x: array<f32>;
        @group(0) @binding(1) var<storage, read_write> y: array<f32>;
        @group(1) @binding(0) var<uniform> p: Params;

        @compute @workgroup_size(64)
        fn main(
            @builtin(workgroup_id) group: vec3<u32>,
            @builtin(num_workgroups) groups: vec3<u32>,
            @builtin(local_invocation_index) lane: u32,
        ) {
            let index = (group.y * groups.x + group.x) * 64u + lane;
            let row = index / p.y_stride;
            let column = index % p.y_stride;
            if (row >= p.rows) { return; }
            let origin = i32(row + column / p.width) - i32(p.kernel / 2u);
            var value = 0.0;
            // the padding of a row is zeros
            if (column < p.kernel * p.width && origin >= 0 && origin < i32(p.rows)) {
                value = x[u32(origin) * p.x_stride + column % p.width];
            }
            y[index] = value;
        }"],
    storage: &[Access::Read, Access::Write],
    params: &[
        Field { name: "rows", dtype: "u32", offset: 0 },
        Field { name: "width", dtype: "u32", offset: 4 },
        Field { name: "kernel", dtype: "u32", offset: 8 },
        Field { name: "x_stride", dtype: "u32", offset: 12 },
        Field { name: "y_stride", dtype: "u32", offset: 16 },
    ],
};

impl Operator for Unfold {
    fn name(&self) -> &'static str {
        "unfold"
    }

    fn reads(&self) -> Vec<Value> {
        vec![self.x]
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.y]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let Shape { rows, width } = to.shape(self.x);
        let [x_stride, y_stride] = [stride(width), stride(self.kernel * width)];
        let params = [rows, width, self.kernel, x_stride, y_stride].map(|number| number as u32);
        let dispatch = Dispatch::new(&KERNEL, Vec::new(), &params, fold(rows * y_stride, 64));
        to.launch(dispatch, vec![self.x.into(), self.y.into()]);
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        let Shape { rows, width } = run.shape(self.x);
        run.write([self.y], |run, [y]| {
            let x = run.f32(self.x);
            y.par_chunks_exact_mut(self.kernel * width).enumerate().for_each(|(row, y)| {
                for (offset, y) in offsets(self.kernel).zip(y.chunks_exact_mut(width)) {
                    match row.checked_add_signed(offset).filter(|&from| from < rows) {
                        Some(from) => y.copy_from_slice(&x[from * width..][..width]),
                        None => y.fill(0.0),
                    }
                }
            });
        });
    }
}
