// Weights as f32: a block is four outputs of one input. See panels.rs.
@group(0) @binding(1) var<storage, read> weight: array<vec4<f32>>;

const BLOCK_STEP: u32 = 64u;  // distance to the same outputs' block, four inputs later

// On matrix units, each is a sum of two f16, scaled so that f16 holds numbers up to a million.
const LOW_WEIGHTS: u32 = 1u;
const UNIT_SCALE: f32 = 0.0625;

// The first block of four neighbouring outputs.
fn first_block(part_quad: u32, input_quads: u32) -> u32 {
    return part_quad / 16u * (input_quads * 64u) + part_quad % 16u;
}

// Four outputs of four inputs, a column for each input.
fn weights(block: u32) -> mat4x4<f32> {
    return mat4x4(weight[block], weight[block + 16u], weight[block + 32u], weight[block + 48u]);
}

// Scales of four outputs.
fn weight_scale(part_quad: u32, input_quads: u32) -> vec4<f32> {
    return vec4(1.0);
}
