// What the kernels of a linear layer share: their bindings, and the end of y = activation(scale·x·Wᵀ + b), then y + z
// or y ⊙ z.
// uses: shared/activation.wgsl
override HAS_BIAS: bool = false;
override JOIN: u32 = 0u;  // 1: y + z, a residual; 2: y ⊙ z, a gate

struct Params {
    rows: u32,
    input_quads: u32,  // ceil(inputs / 4)
    first_quad: u32,   // of y, computed by this part of the weights
    part_quads: u32,   // computed by this part
    outputs: u32,      // of all parts
    scale: f32,
}

@group(0) @binding(0) var<storage, read>       x: array<vec4<f32>>;       // [rows, inputs]
@group(0) @binding(1) var<storage, read>       weight: array<vec4<f32>>;  // [panels, inputs, 64], see panels.rs
@group(0) @binding(2) var<storage, read>       bias: array<vec4<f32>>;    // [outputs]
@group(0) @binding(3) var<storage, read>       z: array<vec4<f32>>;       // [rows, outputs]
@group(0) @binding(4) var<storage, read_write> y: array<vec4<f32>>;       // [rows, outputs]
@group(1) @binding(0) var<uniform> p: Params;

const PANEL_QUADS: u32 = 16u;  // in a row of a panel

// The first weights of four neighbouring outputs; those of the next input lie PANEL_QUADS further on.
fn weights_of(part_quad: u32) -> u32 {
    return part_quad / PANEL_QUADS * (p.input_quads * 4u * PANEL_QUADS) + part_quad % PANEL_QUADS;
}

// Stores four outputs of a row, unless the tile hangs over the edge; zeros beyond the last output.
fn store(row: u32, part_quad: u32, sum: vec4<f32>) {
    if (row >= p.rows || part_quad >= p.part_quads) {
        return;
    }
    let quad = p.first_quad + part_quad;
    let at = row * ((p.outputs + 3u) / 4u) + quad;
    var value = sum * p.scale;
    if (HAS_BIAS) {
        value += bias[quad];
    }
    value = activate(value);
    if (JOIN == 1u) {
        value += z[at];
    }
    if (JOIN == 2u) {
        value *= z[at];
    }
    let outputs = vec4(4u * quad) + vec4(0u, 1u, 2u, 3u);
    y[at] = select(vec4(0.0), value, outputs < vec4(p.outputs));
}
