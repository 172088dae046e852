// 8-bit weights: a block is four outputs of four inputs, a word per input; a panel ends with its outputs' scales. See
// panels.rs.
@group(0) @binding(1) var<storage, read> weight: array<vec4<u32>>;

const BLOCK_STEP: u32 = 16u;  // distance to the same outputs' block, four inputs later

// On matrix units, f16 holds them.
const LOW_WEIGHTS: u32 = 0u;
const UNIT_SCALE: f32 = 1.0;

// The first block of four neighbouring outputs.
fn first_block(part_quad: u32, input_quads: u32) -> u32 {
    return part_quad / 16u * ((input_quads + 1u) * 16u) + part_quad % 16u;
}

// Four signed bytes, the lowest first.
fn widened(word: u32) -> vec4<f32> {
    return vec4<f32>(bitcast<vec4<i32>>(vec4(word) << vec4(24u, 16u, 8u, 0u)) >> vec4(24u));
}

// Four outputs of four inputs, a column for each input.
fn weights(block: u32) -> mat4x4<f32> {
    let words = weight[block];
    return mat4x4(widened(words.x), widened(words.y), widened(words.z), widened(words.w));
}

// Scales of four outputs.
fn weight_scale(part_quad: u32, input_quads: u32) -> vec4<f32> {
    return bitcast<vec4<f32>>(weight[first_block(part_quad, input_quads) + input_quads * 16u]);
}
