// What the kernels of a linear layer share: the end of y = activation(scale·x·Wᵀ + b), then y + z or y ⊙ z. Which of it a
// layer has is a parameter, not a constant: so that all layers share a pipeline.
// uses: shared/plain_inputs.wgsl or shared/normalized_inputs.wgsl or shared/output_layer.wgsl, shared/activation.wgsl, shared/weights_*.wgsl

const PANEL_QUADS: u32 = 16u;  // in a row of a panel

// Stores four outputs of a row, unless the tile hangs over the edge; zeros beyond the last output. Returns what it stored.
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
