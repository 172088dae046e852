// A step of AdamW, four words per invocation; then the gradient is zero. Kingma & Ba 2015, algorithm 1, with the weight
// decay of Loshchilov & Hutter 2019, algorithm 2.
// uses: shared/grid.wgsl

struct Params {
    quads: u32,             // of each buffer
    beta1: f32,
    rest1: f32,             // 1 - beta1, rounded once
    beta2: f32,
    rest2: f32,             // 1 - beta2
    epsilon: f32,
    weight_decay: f32,
    rate_word: u32,         // of the step state: f32, the learning rate
    correction1_word: u32,  // f32, 1 / (1 - beta1ᵗ)
    correction2_word: u32,  // f32, 1 / (1 - beta2ᵗ)
}

@group(0) @binding(0) var<storage, read>       step_state: array<u32>;
@group(0) @binding(1) var<storage, read>       clip_state: array<f32>;  // norm, factor of the gradients
@group(0) @binding(2) var<storage, read_write> weights: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> gradient: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> first_moment: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> second_moment: array<vec4<f32>>;
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let at = flat_workgroup(workgroup, workgroups) * 64u + lane;
    if (at >= p.quads) {
        return;
    }
    let rate = bitcast<f32>(step_state[p.rate_word]);
    let g = gradient[at] * clip_state[1];
    let m = p.beta1 * first_moment[at] + p.rest1 * g;
    let v = p.beta2 * second_moment[at] + p.rest2 * g * g;
    let corrected_m = m * bitcast<f32>(step_state[p.correction1_word]);
    let corrected_v = v * bitcast<f32>(step_state[p.correction2_word]);
    let decayed = weights[at] * (1.0 - rate * p.weight_decay);
    weights[at] = decayed - rate * corrected_m / (sqrt(corrected_v) + p.epsilon);
    first_moment[at] = m;
    second_moment[at] = v;
    gradient[at] = vec4(0.0);
}
