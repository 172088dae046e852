// Common parts of the normalization kernels: bindings, and reads of a row.
override HAS_RESIDUAL: bool = false;
override CENTERED: bool = true;  // layer norm; else RMS norm

struct Params {
    rows: u32,
    width: u32,    // elements of a row
    epsilon: f32,
}

@group(0) @binding(0) var<storage, read>       x: array<vec4<f32>>;         // [rows, width]
@group(0) @binding(1) var<storage, read>       residual: array<vec4<f32>>;  // [rows, width]
@group(0) @binding(2) var<storage, read>       gamma: array<vec4<f32>>;     // [width]
@group(0) @binding(3) var<storage, read>       beta: array<vec4<f32>>;      // [width]
@group(0) @binding(4) var<storage, read_write> y: array<vec4<f32>>;         // [rows, width]
@group(1) @binding(0) var<uniform> p: Params;

fn quads() -> u32 {
    return (p.width + 3u) / 4u;
}

// Four elements of x + residual - mean; zeros beyond the row's end.
fn centered(row: u32, quad: u32, mean: f32) -> vec4<f32> {
    let at = row * quads() + quad;
    var z = x[at];
    if (HAS_RESIDUAL) {
        z += residual[at];
    }
    let column = vec4(4u * quad) + vec4(0u, 1u, 2u, 3u);
    return select(vec4(0.0), z - mean, column < vec4(p.width));
}

// Stores four normalized elements.
fn store(row: u32, quad: u32, mean: f32, factor: f32) {
    var value = centered(row, quad, mean) * factor * gamma[quad];
    if (CENTERED) {
        value += beta[quad];
    }
    y[row * quads() + quad] = value;
}
