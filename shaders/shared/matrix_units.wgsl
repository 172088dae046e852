// Inputs and sums of a linear layer on matrix units, which multiply f16 and add in f32. Weights of 16 and 8 bits are exact in f16;
// an input is a sum of two f16, which keep 22 of f32's 24 bits. Matrices have 16 rows and 16 columns.
// uses: shared/linear.wgsl, shared/weights_*.wgsl

const SCALE: f32 = 0.00390625;        // of inputs, 1/256, so that f16 holds inputs up to 16 million
const LOW_SCALE: f32 = 2048.0;        // of their lower bits
const LOW_UNIT: f32 = 0.00048828125;  // 1 / LOW_SCALE

const SUMS: u32 = 16u * SUMS_STRIDE;  // quads of a subgroup's 16 × 16 sums

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

// The inputs rounded to f16. `nothing` is a zero that the compiler does not know: NVIDIA's takes a number that is converted to f16 and
// back for the number itself.
fn high_of(inputs: vec4<f32>, nothing: u32) -> vec4<f32> {
    let words = vec2(pack2x16float(inputs.xy), pack2x16float(inputs.zw)) | vec2(nothing);
    return vec4(unpack2x16float(words.x), unpack2x16float(words.y));
}

// What rounding took from them.
fn low_of(inputs: vec4<f32>, high: vec4<f32>) -> vec4<f16> {
    return vec4<f16>((inputs - high) * LOW_SCALE);
}

// Adds up the 16 × 16 sums of `count` subgroups, in order, and stores those of the lane.
fn store_sums(first: u32, count: u32, row: u32, part_quad: u32, lane: u32, lanes: u32) {
    for (var at = lane; at < 64u; at += lanes) {
        let place = first * SUMS + at / 4u * SUMS_STRIDE + at % 4u;
        var sum = sums[place];
        for (var other = 1u; other < count; other++) {
            sum += sums[place + other * SUMS];
        }
        store(row + at / 4u, part_quad + at % 4u, sum / SCALE);
    }
}
