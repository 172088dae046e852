// sum + x.x * w0 + x.y * w1 + x.z * w2 + x.w * w3, in this order: four inputs of one row, four outputs.
fn multiply_add(
    x: vec4<f32>,
    w0: vec4<f32>,
    w1: vec4<f32>,
    w2: vec4<f32>,
    w3: vec4<f32>,
    sum: vec4<f32>,
) -> vec4<f32> {
    return fma(vec4(x.w), w3, fma(vec4(x.z), w2, fma(vec4(x.y), w1, fma(vec4(x.x), w0, sum))));
}
