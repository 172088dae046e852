// Weights as f32: a block is four outputs of one input. See panels.rs.
// uses: shared/read_weights.wgsl or shared/read_weights_int64.wgsl

const BLOCK_STEP: u32 = 64u;  // from a block to that of the same outputs, four inputs further on

// The first block of four neighbouring outputs.
fn first_block(part_quad: u32, input_quads: u32) -> u32 {
    return part_quad / 16u * (input_quads * 64u) + part_quad % 16u;
}

fn widened(words: vec4<u32>) -> vec4<f32> {
    return bitcast<vec4<f32>>(words);
}

// Four outputs of four inputs, a column for each input.
fn weights(block: u32) -> mat4x4<f32> {
    return mat4x4(
        widened(block_at(block)),
        widened(block_at(block + 16u)),
        widened(block_at(block + 32u)),
        widened(block_at(block + 48u)),
    );
}

// The same of a block of even number and the one after it.
fn two_weights(block: u32) -> array<mat4x4<f32>, 2> {
    let w0 = two_blocks_at(block);
    let w1 = two_blocks_at(block + 16u);
    let w2 = two_blocks_at(block + 32u);
    let w3 = two_blocks_at(block + 48u);
    return array(
        mat4x4(widened(w0[0]), widened(w1[0]), widened(w2[0]), widened(w3[0])),
        mat4x4(widened(w0[1]), widened(w1[1]), widened(w2[1]), widened(w3[1])),
    );
}

// Four outputs of one of four inputs.
fn weights_of_input(block: u32, input: u32) -> vec4<f32> {
    return widened(block_at(block + input * 16u));
}

// What four outputs' weights have to be multiplied by.
fn weight_scale(part_quad: u32, input_quads: u32) -> vec4<f32> {
    return vec4(1.0);
}
