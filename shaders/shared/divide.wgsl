// a / b as IEEE 754 rounds it, for normal b > 0. WGSL's own division may be wrong in the last two bits, which could
// swap two hypotheses.

fn divide(a: f32, b: f32) -> f32 {
    let a_bits = bitcast<u32>(a);
    let b_bits = bitcast<u32>(b);
    let a_exponent = (a_bits >> 23u) & 0xffu;
    let b_exponent = (b_bits >> 23u) & 0xffu;
    var exponent = i32(a_exponent) - i32(b_exponent) + 127;
    // zeros, tiny and huge numbers
    if (a_exponent == 0u || a_exponent == 255u || b_exponent == 0u || b_exponent == 255u || exponent < 2 || exponent > 253) {
        return a / b;
    }
    let divisor = (b_bits & 0x7fffffu) | 0x800000u;
    var rest = (a_bits & 0x7fffffu) | 0x800000u;
    if (rest < divisor) {
        rest <<= 1u;
        exponent--;
    }
    // 24 bits, and one for rounding
    var quotient = 0u;
    for (var bit = 0u; bit < 25u; bit++) {
        quotient <<= 1u;
        if (rest >= divisor) {
            rest -= divisor;
            quotient |= 1u;
        }
        rest <<= 1u;
    }
    let is_half = (quotient & 1u) == 1u;
    quotient >>= 1u;
    // a tie (no remainder) goes to the even neighbour
    if (is_half && (rest != 0u || (quotient & 1u) == 1u)) {
        quotient++;
    }
    // a carry out of the quotient moves into the exponent
    return bitcast<f32>((a_bits & 0x80000000u) | ((u32(exponent) << 23u) + (quotient - 0x800000u)));
}
