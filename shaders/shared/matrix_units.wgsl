// Numbers for matrix units, which multiply f16 and add in f32: a number is a sum of two f16, which keep 22 of f32's 24 bits. Matrices
// have 16 rows and 16 columns.

const LOW_SCALE: f32 = 2048.0;        // of the lower bits
const LOW_UNIT: f32 = 0.00048828125;  // 1 / LOW_SCALE

const SUMS: u32 = 16u * SUMS_STRIDE;  // quads of a subgroup's sums: sixteen rows of them

// Four numbers rounded to f16. `nothing` is a zero that the compiler does not know: NVIDIA's takes a number that is converted to f16 and
// back for the number itself.
fn high_of(numbers: vec4<f32>, nothing: u32) -> vec4<f32> {
    let words = vec2(pack2x16float(numbers.xy), pack2x16float(numbers.zw)) | vec2(nothing);
    return vec4(unpack2x16float(words.x), unpack2x16float(words.y));
}

// What rounding took from them.
fn low_of(numbers: vec4<f32>, high: vec4<f32>) -> vec4<f16> {
    return vec4<f16>((numbers - high) * LOW_SCALE);
}
