// The norm of all gradients, from sums of squares, and the factor that clips it: min(1, max_norm / (norm + 1e-6)).
// Pascanu et al. 2013, algorithm 1; as torch.nn.utils.clip_grad_norm_. One workgroup.
// uses: shared/reduce.wgsl, shared/grid.wgsl

struct Params {
    count: u32,     // of partials
    clips: u32,     // whether there is a maximum; else the factor is 1
    max_norm: f32,
}

@group(0) @binding(0) var<storage, read>       partials: array<f32>;    // [count]
@group(0) @binding(1) var<storage, read_write> clip_state: array<f32>;  // norm, factor
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    var sum = 0.0;
    for (var i = zero(workgroup) + lane; i < p.count; i += LANES) {
        sum += partials[i];
    }
    let norm = sqrt(reduce_sum(lane, sum));
    if (lane == 0u) {
        clip_state[0] = norm;
        clip_state[1] = select(1.0, min(1.0, p.max_norm / (norm + 1e-6)), p.clips != 0u);
    }
}
