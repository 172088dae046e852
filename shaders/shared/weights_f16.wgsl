// Weights as f16: a block is four outputs of two inputs, two in a word. See panels.rs.
@group(0) @binding(1) var<storage, read> weight: array<vec4<u32>>;

const BLOCK_STEP: u32 = 32u;  // distance to the same outputs' block, four inputs later

// On matrix units, f16 holds them.
const LOW_WEIGHTS: u32 = 0u;
const UNIT_SCALE: f32 = 1.0;

// The first block of four neighbouring outputs.
fn first_block(part_quad: u32, input_quads: u32) -> u32 {
    return part_quad / 16u * (input_quads * 32u) + part_quad % 16u;
}

fn widened(words: vec2<u32>) -> vec4<f32> {
    return vec4(unpack2x16float(words.x), unpack2x16float(words.y));
}

// Four outputs of four inputs, a column for each input.
fn weights(block: u32) -> mat4x4<f32> {
    let first = weight[block];
    let last = weight[block + 16u];
    return mat4x4(widened(first.xy), widened(first.zw), widened(last.xy), widened(last.zw));
}

// Scales of four outputs.
fn weight_scale(part_quad: u32, input_quads: u32) -> vec4<f32> {
    return vec4(1.0);
}
