// Common parts of the gradients of a linear layer's weights: bindings, reads, and the addition to the panels.

struct Params {
    rows: u32,
    inputs: u32,
    input_quads: u32,   // ceil(inputs / 4)
    output_quads: u32,  // in a row of dy: of all parts
    first_quad: u32,    // of dy, the first of this part of the weights
    part_outputs: u32,  // outputs of this part
    scale: f32,
    share_rows: u32,    // rows that a workgroup adds up
    shares: u32,        // 1: the sums are added to the gradient, more: it has a sum for each share
}

@group(0) @binding(0) var<storage, read>       dy: array<vec4<f32>>;               // [rows, outputs]
@group(0) @binding(1) var<storage, read>       x: array<vec4<f32>>;                // [rows, inputs]
@group(0) @binding(2) var<storage, read_write> weight_gradient: array<vec4<f32>>;  // [shares], panels
@group(1) @binding(0) var<uniform> p: Params;

// Four outputs of a row of dy; zeros beyond the last row and output, so that padding stays zero.
fn output_quad(row: u32, quad: u32) -> vec4<f32> {
    let at = min(row, p.rows - 1u) * p.output_quads + min(p.first_quad + quad, p.output_quads - 1u);
    let output = vec4(4u * quad) + vec4(0u, 1u, 2u, 3u);
    return select(vec4(0.0), dy[at], (output < vec4(p.part_outputs)) & vec4(row < p.rows));
}

// Four inputs of a row of x; zeros beyond the last row and input.
fn input_quad(row: u32, quad: u32) -> vec4<f32> {
    let at = min(row, p.rows - 1u) * p.input_quads + min(quad, p.input_quads - 1u);
    let input = vec4(4u * quad) + vec4(0u, 1u, 2u, 3u);
    return select(vec4(0.0), x[at], (input < vec4(p.inputs)) & vec4(row < p.rows));
}

// Adds the sum of four outputs of one of the four inputs of a quad, or stores that of a share.
fn add(share: u32, panel: u32, output_quad: u32, input_quad: u32, input: u32, sum: vec4<f32>) {
    if (input_quad >= p.input_quads) {
        return;
    }
    let panels = (p.part_outputs + 63u) / 64u;
    let at = 16u * (4u * ((share * panels + panel) * p.input_quads + input_quad) + input) + output_quad;
    if (p.shares == 1u) {
        weight_gradient[at] += p.scale * sum;
    } else {
        weight_gradient[at] = p.scale * sum;
    }
}
