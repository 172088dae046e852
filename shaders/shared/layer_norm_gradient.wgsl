// Common parts of the gradients of a normalization: parameters, inputs, and reads of a row.

struct Params {
    rows: u32,
    width: u32,         // elements of a row, without padding
    epsilon: f32,
    has_residual: u32,
    centered: u32,      // layer norm; else RMS norm, which has no mean and no beta
    has_earlier: u32,
    share_rows: u32,    // rows that a workgroup adds up for the gradient of gamma
    shares: u32,        // of them
}

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;         // [rows, width]
@group(0) @binding(1) var<storage, read> residual: array<vec4<f32>>;  // [rows, width]
@group(0) @binding(2) var<storage, read> dy: array<vec4<f32>>;        // [rows, width]
@group(1) @binding(0) var<uniform> p: Params;

fn quads() -> u32 {
    return (p.width + 3u) / 4u;
}

// `value`, with zeros beyond the row's end.
fn inside_row(quad: u32, value: vec4<f32>) -> vec4<f32> {
    let column = vec4(4u * quad) + vec4(0u, 1u, 2u, 3u);
    return select(vec4(0.0), value, column < vec4(p.width));
}

// Four elements of x + residual - mean; zeros beyond the row's end.
fn centered(row: u32, quad: u32, mean: f32) -> vec4<f32> {
    let at = row * quads() + quad;
    var z = x[at];
    if (p.has_residual != 0u) {
        z += residual[at];
    }
    return inside_row(quad, z - mean);
}
