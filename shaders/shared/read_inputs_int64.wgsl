// The same as shared/read_inputs.wgsl with integers of 64 bits: four inputs take two readings.
@group(0) @binding(0) var<storage, read> x: array<vec2<u64>>;  // [rows, inputs]

fn inputs_at(quad: u32) -> vec4<f32> {
    let words = x[quad];
    let low = vec2<u32>(words);
    let high = vec2<u32>(words >> vec2(32u));
    return bitcast<vec4<f32>>(vec4(low.x, high.x, low.y, high.y));
}
