//! A gated recurrent unit along the sequence: r = σ(x_r + h_r), z = σ(x_z + h_z), n = tanh(x_n + r ⊙ h_n) and
//! h = (1 - z) ⊙ n + z ⊙ h₋₁, where x_… = W x of all tokens at once, and h_… = U h₋₁ of one token after the other.  Cho et al.
//! 2014; the reset gate comes after the product, as in PyTorch and cuDNN.

use wordloom::graph::{
    Access, CpuRun, Dispatch, Dtype, Field, GraphError, Kernel, Lowering, Operator, Shape, Value, fold,
    stride,
};
use wordloom::ops::Activation;

use super::builder::{Builder, Size};

/// The gates of one token.
#[derive(Debug)]
struct Gates {
    /// `[length, 3 * width]`: r, z, n
    of_input: Value,
    /// `[1, 3 * width]`
    of_state: Value,
    /// `[1, width]`
    before: Value,
    after: Value,
    /// `[length, width]`; this token's row is written.
    states: Value,
    token: usize,
}

/// Adds the unit over the sequence `x`; returns its states `[length, width]`. A token takes two nodes: the product with U, and the
/// gates.
pub fn gru(builder: &mut Builder, x: Value) -> Result<Value, GraphError> {
    let Size { length, width } = builder.size;
    let of_input = builder.linear("input", x, 3 * width)?;
    let recurrent = builder.weight("recurrent", 3 * width, width);
    let states = builder.graph.value("gru", Shape::new(length, width), Dtype::F32)?;
    let mut before = builder.zeros("start", 1, width);
    for token in 0..length {
        let of_state = builder.apply(before, recurrent)?;
        let after = builder.graph.value("gru", Shape::new(1, width), Dtype::F32)?;
        builder.push(Gates { of_input, of_state, before, after, states, token }, 3 * width as u128);
        before = after;
    }
    Ok(states)
}

static KERNEL: Kernel = Kernel {
    name: "bench_gru_gates",
    wgsl: &["
        struct Params { width: u32, stride: u32, input_first: u32, state_first: u32 }
        @group(0) @binding(0) var<storage, read>       of_input: array<f32>;
        @group(0) @binding(1) var<storage, read>       of_state: array<f32>;
        @group(0) @binding(2) var<storage, read>       before: array<f32>;
        @group(0) @binding(3) var<storage, read_write> after: array<f32>;
        @group(0) @binding(4) var<storage, read_write> states: array<f32>;
        @group(1) @binding(0) var<uniform> p: Params;

        fn sigmoid(x: f32) -> f32 { return 1.0 / (1.0 + exp(-clamp(x, -80.0, 80.0))); }

        @compute @workgroup_size(64)
        fn main(
            @builtin(workgroup_id) group: vec3<u32>,
            @builtin(num_workgroups) groups: vec3<u32>,
            @builtin(local_invocation_index) lane: u32,
        ) {
            let i = (group.y * groups.x + group.x) * 64u + lane;
            if (i >= p.stride) { return; }
            var h = 0.0; // the padding of a row is zeros
            if (i < p.width) {
                let at = p.input_first + i;
                let r = sigmoid(of_input[at] + of_state[i]);
                let z = sigmoid(of_input[at + p.width] + of_state[p.width + i]);
                let n = tanh(clamp(of_input[at + 2u * p.width] + r * of_state[2u * p.width + i], -40.0, 40.0));
                h = (1.0 - z) * n + z * before[i];
            }
            after[i] = h;
            states[p.state_first + i] = h;
        }"],
    storage: &[Access::Read, Access::Read, Access::Read, Access::Write, Access::Write],
    params: &[
        Field { name: "width", dtype: "u32", offset: 0 },
        Field { name: "stride", dtype: "u32", offset: 4 },
        Field { name: "input_first", dtype: "u32", offset: 8 },
        Field { name: "state_first", dtype: "u32", offset: 12 },
    ],
};

impl Operator for Gates {
    fn name(&self) -> &'static str {
        "gru_gates"
    }

    fn reads(&self) -> Vec<Value> {
        vec![self.of_input, self.of_state, self.before]
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.after, self.states]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let width = to.shape(self.after).width;
        let firsts = [self.token * stride(3 * width), self.token * stride(width)];
        let params = [width, stride(width), firsts[0], firsts[1]].map(|number| number as u32);
        let dispatch = Dispatch::new(&KERNEL, Vec::new(), &params, fold(stride(width), 64));
        let bound = [self.of_input, self.of_state, self.before, self.after, self.states];
        to.launch(dispatch, bound.map(Into::into).to_vec());
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        let width = run.shape(self.after).width;
        run.write([self.after, self.states], |run, [after, states]| {
            let of_input = &run.f32(self.of_input)[self.token * 3 * width..][..3 * width];
            let (of_state, before) = (run.f32(self.of_state), run.f32(self.before));
            let sigmoid = |x: f32| Activation::Sigmoid.apply(x);
            for (i, after) in after.iter_mut().enumerate() {
                let r = sigmoid(of_input[i] + of_state[i]);
                let z = sigmoid(of_input[width + i] + of_state[width + i]);
                let n = (of_input[2 * width + i] + r * of_state[2 * width + i]).tanh();
                *after = (1.0 - z) * n + z * before[i];
            }
            states[self.token * width..][..width].copy_from_slice(after);
        });
    }
}
