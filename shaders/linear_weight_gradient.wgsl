// The gradient of a linear layer's weights: dW += scale · dyᵀ · x, in panels as the weights. A tile of 64 outputs (one
// panel) and 64 inputs per workgroup, four outputs of four inputs per invocation. dy and x pass through workgroup
// memory, sixteen rows at a time.
// uses: shared/weight_gradient.wgsl, shared/grid.wgsl

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

    var sum0 = vec4(0.0);
    var sum1 = vec4(0.0);
    var sum2 = vec4(0.0);
    var sum3 = vec4(0.0);
    for (var first = zero(workgroup); first < p.rows; first += 16u) {
        dy_tile[lane] = output_quad(first + local.y, panel * 16u + local.x);
        x_tile[lane] = input_quad(first + local.y, first_input_quad + local.x);
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
    let quad = first_input_quad + local.y;
    add(panel, local.x, quad, 0u, sum0);
    add(panel, local.x, quad, 1u, sum1);
    add(panel, local.x, quad, 2u, sum2);
    add(panel, local.x, quad, 3u, sum3);
}
