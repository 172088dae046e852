// The gradient of a linear layer's weights: dW += scale · dyᵀ · x, in panels as the weights. A tile of 64 outputs (one
// panel) and 64 inputs per workgroup, four outputs of four inputs per invocation. dy and x pass through workgroup
// memory, sixteen rows at a time.
// uses: shared/grid.wgsl

struct Params {
    rows: u32,
    inputs: u32,
    input_quads: u32,   // ceil(inputs / 4)
    output_quads: u32,  // in a row of dy: of all parts
    first_quad: u32,    // of dy, the first of this part of the weights
    part_outputs: u32,  // outputs of this part
    scale: f32,
}

@group(0) @binding(0) var<storage, read>       dy: array<vec4<f32>>;               // [rows, outputs]
@group(0) @binding(1) var<storage, read>       x: array<vec4<f32>>;                // [rows, inputs]
@group(0) @binding(2) var<storage, read_write> weight_gradient: array<vec4<f32>>;  // panels
@group(1) @binding(0) var<uniform> p: Params;

var<workgroup> dy_tile: array<vec4<f32>, 256>;  // [16 rows, 16 quads of outputs]
var<workgroup> x_tile: array<vec4<f32>, 256>;   // [16 rows, 16 quads of inputs]

@compute @workgroup_size(16, 16)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let input_blocks = (p.input_quads + 15u) / 16u;
    let group = flat_workgroup(workgroup, workgroups);
    let panel = group / input_blocks;
    if (64u * panel >= p.part_outputs) {
        return;
    }
    let first_input_quad = group % input_blocks * 16u;

    // this invocation's part of the tiles: zeros beyond the last output, input and row, so that padding stays zero
    let dy_quad = panel * 16u + local.x;
    let x_quad = first_input_quad + local.x;
    let dy_column = vec4(4u * dy_quad) + vec4(0u, 1u, 2u, 3u);
    let x_column = vec4(4u * x_quad) + vec4(0u, 1u, 2u, 3u);
    let dy_inside = dy_column < vec4(p.part_outputs);
    let x_inside = x_column < vec4(p.inputs);
    let dy_at = min(p.first_quad + dy_quad, p.output_quads - 1u);
    let x_at = min(x_quad, p.input_quads - 1u);

    var sum0 = vec4(0.0);
    var sum1 = vec4(0.0);
    var sum2 = vec4(0.0);
    var sum3 = vec4(0.0);
    for (var first = zero(workgroup); first < p.rows; first += 16u) {
        let row = min(first + local.y, p.rows - 1u);
        let row_inside = vec4(first + local.y < p.rows);
        dy_tile[lane] = select(vec4(0.0), dy[row * p.output_quads + dy_at], dy_inside & row_inside);
        x_tile[lane] = select(vec4(0.0), x[row * p.input_quads + x_at], x_inside & row_inside);
        workgroupBarrier();
        for (var i = 0u; i < 16u; i++) {
            let of_outputs = dy_tile[16u * i + local.x];
            let of_inputs = x_tile[16u * i + local.y];
            sum0 = fma(of_outputs, vec4(of_inputs.x), sum0);
            sum1 = fma(of_outputs, vec4(of_inputs.y), sum1);
            sum2 = fma(of_outputs, vec4(of_inputs.z), sum2);
            sum3 = fma(of_outputs, vec4(of_inputs.w), sum3);
        }
        workgroupBarrier();
    }
    let input_quad = first_input_quad + local.y;
    if (input_quad < p.input_quads) {
        let at = 64u * (panel * p.input_quads + input_quad) + local.x;
        weight_gradient[at] += p.scale * sum0;
        weight_gradient[at + 16u] += p.scale * sum1;
        weight_gradient[at + 32u] += p.scale * sum2;
        weight_gradient[at + 48u] += p.scale * sum3;
    }
}
