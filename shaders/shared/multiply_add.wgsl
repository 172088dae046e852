// sum + x.x * w[0] + x.y * w[1] + x.z * w[2] + x.w * w[3], in this order: four inputs of one row, four outputs.
fn multiply_add(x: vec4<f32>, w: mat4x4<f32>, sum: vec4<f32>) -> vec4<f32> {
    return fma(vec4(x.w), w[3], fma(vec4(x.z), w[2], fma(vec4(x.y), w[1], fma(vec4(x.x), w[0], sum))));
}
