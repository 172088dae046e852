// sum + x.x * w[0] + x.y * w[1] + x.z * w[2] + x.w * w[3], in this order: four inputs of one row, four outputs.
fn multiply_add(x: vec4<f32>, w: mat4x4<f32>, sum: vec4<f32>) -> vec4<f32> {
    return fma(vec4(x.w), w[3], fma(vec4(x.z), w[2], fma(vec4(x.y), w[1], fma(vec4(x.x), w[0], sum))));
}

// One number of each of four rows times a quad, added to the rows' sums: a tile's step.
fn add_products(inputs: vec4<f32>, w: vec4<f32>, of_rows: mat4x4<f32>) -> mat4x4<f32> {
    return mat4x4(
        fma(vec4(inputs.x), w, of_rows[0]),
        fma(vec4(inputs.y), w, of_rows[1]),
        fma(vec4(inputs.z), w, of_rows[2]),
        fma(vec4(inputs.w), w, of_rows[3]),
    );
}
