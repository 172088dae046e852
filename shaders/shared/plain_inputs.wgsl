// The bindings of a linear layer, but for inputs and weights (shared/read_*.wgsl); its inputs are read as they are. See
// shared/normalized_inputs.wgsl for the other way.
// uses: shared/read_inputs.wgsl or shared/read_inputs_int64.wgsl

struct Params {
    rows: u32,
    input_quads: u32,  // ceil(inputs / 4)
    first_quad: u32,   // of y, computed by this part of the weights
    part_quads: u32,   // computed by this part
    outputs: u32,      // of all parts
    scale: f32,
    has_bias: u32,
    activation: u32,   // see shared/activation.wgsl
    join: u32,         // 1: y + z, a residual; 2: y ⊙ z, a gate
}

@group(0) @binding(2) var<storage, read>       bias: array<vec4<f32>>;  // [outputs]
@group(0) @binding(3) var<storage, read>       z: array<vec4<f32>>;     // [rows, outputs]
@group(0) @binding(4) var<storage, read_write> y: array<vec4<f32>>;     // [rows, outputs]
@group(1) @binding(0) var<uniform> p: Params;

fn joined(value: vec4<f32>, at: u32) -> vec4<f32> {
    if (p.join == 1u) {
        return value + z[at];
    }
    if (p.join == 2u) {
        return value * z[at];
    }
    return value;
}

fn statistics_of(starts: vec4<u32>, lane: u32) -> mat2x4<f32> {
    return mat2x4<f32>();
}

fn input(start: u32, quad: u32, mean: f32, factor: f32) -> vec4<f32> {
    return inputs_at(start + quad);
}

fn keep(row: u32, start: u32, lane: u32, mean: f32, factor: f32) {
}

fn note_quad(at: u32, row: u32, part_quad: u32, value: vec4<f32>) {
}

fn note_panel(first: u32, row: u32, panel: u32, notes: bool) {
}
