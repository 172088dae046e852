// How the inputs of a linear layer are read: four at a time.
@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;  // [rows, inputs]

fn inputs_at(quad: u32) -> vec4<f32> {
    return x[quad];
}
