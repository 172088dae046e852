// The end of a linear layer: y = activation(scale·x·Wᵀ + b), then y + z or y ⊙ z. Its options are parameters, not
// constants, so that all layers share a pipeline.
// uses: shared/plain_inputs.wgsl or shared/normalized_inputs.wgsl or shared/output_layer.wgsl, shared/activation.wgsl, shared/weights_*.wgsl

struct Params {
    rows: u32,
    input_quads: u32,  // ceil(inputs / 4)
    first_quad: u32,   // of y, computed by this part of the weights
    part_quads: u32,   // quads of this part
    outputs: u32,      // of all parts
    scale: f32,
    has_bias: u32,
    activation: u32,   // see shared/activation.wgsl
    join: u32,         // plain inputs. 1: y + z, a residual; 2: y ⊙ z, a gate
    inputs: u32,       // normalized inputs
    epsilon: f32,      // normalized inputs
    ban_words: u32,    // output layer: words per list
    beams: u32,        // output layer: rows per sentence
    block: u32,        // output layer: words per sentence in `search`
}

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;     // [rows, inputs]
@group(0) @binding(2) var<storage, read> bias: array<vec4<f32>>;  // [outputs]
@group(1) @binding(0) var<uniform> p: Params;

const PANEL_QUADS: u32 = 16u;  // in a row of a panel

// Stores four outputs of a row inside the matrix, with zeros beyond the last output. Returns the stored values.
fn store(row: u32, part_quad: u32, sum: vec4<f32>) -> vec4<f32> {
    if (row >= p.rows || part_quad >= p.part_quads) {
        return vec4(0.0);
    }
    let quad = p.first_quad + part_quad;
    let at = row * ((p.outputs + 3u) / 4u) + quad;
    var value = sum * weight_scale(part_quad, p.input_quads) * p.scale;
    if (p.has_bias != 0u) {
        value += bias[quad];
    }
    value = joined(activate(value, p.activation), at);
    let outputs = vec4(4u * quad) + vec4(0u, 1u, 2u, 3u);
    value = select(vec4(0.0), value, outputs < vec4(p.outputs));
    y[at] = value;
    return value;
}
