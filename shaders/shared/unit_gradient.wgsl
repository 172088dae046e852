// Products of a gradient on matrix units: both operands are a sum of two f16. A workgroup has four subgroups, each with 32 × 32 sums.
// uses: shared/matrix_units.wgsl

const SUMS_STRIDE: u32 = 8u;  // of two matrices side by side

var<workgroup> a_high: array<vec4<f16>, OPERAND_QUADS>;
var<workgroup> a_low: array<vec4<f16>, OPERAND_QUADS>;
var<workgroup> b_high: array<vec4<f16>, OPERAND_QUADS>;
var<workgroup> b_low: array<vec4<f16>, OPERAND_QUADS>;
var<workgroup> sums: array<vec4<f32>, 4u * SUMS>;  // of all subgroups
var<workgroup> maxima: array<f32, 128>;

// The power of two that brings the largest number of dy to the upper half of f16's range: gradients can be as small as 1e-12, or large.
// From the largest numbers of 256 shares; by 128 lanes, in uniform control flow.
fn scale_of_gradient(lane: u32) -> f32 {
    maxima[lane] = max(largest[lane], largest[lane + 128u]);
    workgroupBarrier();
    for (var half = 64u; half > 0u; half /= 2u) {
        if (lane < half) {
            maxima[lane] = max(maxima[lane], maxima[lane + half]);
        }
        workgroupBarrier();
    }
    let exponent = bitcast<u32>(maxima[0]) >> 23u;
    return bitcast<f32>(clamp(268u - exponent, 28u, 226u) << 23u);
}

fn stage_a(at: u32, numbers: vec4<f32>, nothing: u32) {
    let high = high_of(numbers, nothing);
    a_high[at] = vec4<f16>(high);
    a_low[at] = low_of(numbers, high);
}

fn stage_b(at: u32, numbers: vec4<f32>, nothing: u32) {
    let high = high_of(numbers, nothing);
    b_high[at] = vec4<f16>(high);
    b_low[at] = low_of(numbers, high);
}
