// Common parts of the gradients of a linear layer's input: bindings, reads, and the store.
// uses: shared/weights_f32.wgsl

struct Params {
    rows: u32,
    inputs: u32,
    input_quads: u32,   // ceil(inputs / 4)
    output_quads: u32,  // in a row of dy: of all parts
    first_quad: u32,    // of dy, multiplied by this part of the weights
    part_quads: u32,    // quads of this part
    scale: f32,
    earlier: u32,       // 0: nothing, 1: the buffer `earlier`, 2: what dx holds
    share_quads: u32,   // quads of dy that a workgroup adds up; dx has a sum for each share
}

@group(0) @binding(0) var<storage, read>       dy: array<vec4<f32>>;       // [rows, outputs]
@group(0) @binding(2) var<storage, read>       earlier: array<vec4<f32>>;  // [rows, inputs]
@group(0) @binding(3) var<storage, read_write> dx: array<vec4<f32>>;       // [shares, rows, inputs]
@group(1) @binding(0) var<uniform> p: Params;

// Four outputs of a row of dy in this part; zeros beyond the last one. Rows beyond the last one repeat it.
fn output_quad(row: u32, quad: u32) -> vec4<f32> {
    let at = min(row, p.rows - 1u) * p.output_quads + p.first_quad + min(quad, p.part_quads - 1u);
    return select(vec4(0.0), dy[at], quad < p.part_quads);
}

// The weights of four outputs of this part for an input; zeros beyond the last output.
fn weight_quad(quad: u32, input: u32) -> vec4<f32> {
    let block = first_block(min(quad, p.part_quads - 1u), p.input_quads);
    let inside = min(input, 4u * p.input_quads - 1u);
    return select(vec4(0.0), weight[block + 16u * inside], quad < p.part_quads);
}

// Stores four inputs of a row of a share inside the matrix, with zeros beyond the last input.
fn store(share: u32, row: u32, quad: u32, sum: vec4<f32>) {
    if (row >= p.rows || quad >= p.input_quads) {
        return;
    }
    let at = (share * p.rows + row) * p.input_quads + quad;
    var value = sum * p.scale;
    if (p.earlier == 1u) {
        value += earlier[at];
    } else if (p.earlier == 2u) {
        value += dx[at];
    }
    let inputs = vec4(4u * quad) + vec4(0u, 1u, 2u, 3u);
    dx[at] = select(vec4(0.0), value, inputs < vec4(p.inputs));
}
