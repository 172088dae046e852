// Inputs and sums of a linear layer on matrix units. Weights of 16 and 8 bits are exact in f16, those of 32 bits are
// a sum of two.
// uses: shared/matrix_units.wgsl, shared/linear.wgsl, shared/weights_*.wgsl

const SCALE: f32 = 0.00390625;  // of inputs, 1/256, so that f16 holds inputs up to 16 million

// Starts of four rows, `distance` rows apart, in quads; rows beyond the end repeat the last.
fn row_starts(first: u32, distance: u32) -> vec4<u32> {
    return min(vec4(first) + distance * vec4(0u, 1u, 2u, 3u), vec4(p.rows - 1u)) * p.input_quads;
}

// Four inputs of four rows, scaled, a column for each row; zeros beyond the last input.
fn scaled_inputs(starts: vec4<u32>, quad: u32) -> mat4x4<f32> {
    if (quad >= p.input_quads) {
        return mat4x4<f32>();
    }
    let at = starts + quad;
    return mat4x4(x[at.x], x[at.y], x[at.z], x[at.w]) * SCALE;
}

// Four outputs of four inputs; the last ones beyond the last input.
fn weights_inside(block: u32, input_quad: u32) -> mat4x4<f32> {
    return weights(block + min(input_quad, p.input_quads - 1u) * BLOCK_STEP);
}

// Adds up the 16 × 16 sums of `count` subgroups, in order, and stores those of the lane.
fn store_sums(first: u32, count: u32, row: u32, part_quad: u32, lane: u32, lanes: u32) {
    for (var at = lane; at < 64u; at += lanes) {
        let place = first * SUMS + at / 4u * SUMS_STRIDE + at % 4u;
        var sum = sums[place];
        for (var other = 1u; other < count; other++) {
            sum += sums[place + other * SUMS];
        }
        store(row + at / 4u, part_quad + at % 4u, sum / (SCALE * UNIT_SCALE));
    }
}
