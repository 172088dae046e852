// The gradient of a linear layer's weights, as linear_weight_gradient.wgsl, for few weights: 64 outputs and 16 inputs
// per workgroup, so that a small matrix has enough workgroups for a GPU. Four slices of the lanes share the rows; each
// invocation has four outputs of four inputs.
// uses: shared/weight_gradient.wgsl, shared/grid.wgsl

var<workgroup> dy_tile: array<vec4<f32>, 512>;  // [32 rows, 16 quads of outputs]
var<workgroup> x_tile: array<vec4<f32>, 128>;   // [32 rows, 4 quads of inputs]

@compute @workgroup_size(16, 4, 4)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let input_blocks = (p.input_quads + 3u) / 4u;
    let group = flat_workgroup(workgroup, workgroups);
    let panel = group / input_blocks;
    if (64u * panel >= p.part_outputs) {
        return;
    }
    let first_input_quad = group % input_blocks * 4u;
    let first_output_quad = panel * 16u;

    var sums = array<vec4<f32>, 4>();
    for (var first = zero(workgroup); first < p.rows; first += 32u) {
        dy_tile[lane] = output_quad(first + lane / 16u, first_output_quad + lane % 16u);
        dy_tile[lane + 256u] = output_quad(first + 16u + lane / 16u, first_output_quad + lane % 16u);
        if (lane < 128u) {
            x_tile[lane] = input_quad(first + lane / 4u, first_input_quad + lane % 4u);
        }
        workgroupBarrier();
        for (var i = 8u * local.z; i < 8u * local.z + 8u; i++) {
            let of_outputs = dy_tile[16u * i + local.x];
            let of_inputs = x_tile[4u * i + local.y];
            sums[0] = fma(of_outputs, vec4(of_inputs.x), sums[0]);
            sums[1] = fma(of_outputs, vec4(of_inputs.y), sums[1]);
            sums[2] = fma(of_outputs, vec4(of_inputs.z), sums[2]);
            sums[3] = fma(of_outputs, vec4(of_inputs.w), sums[3]);
        }
        workgroupBarrier();
    }
    // slice s adds up input s of each quad
    for (var slice = 0u; slice < 4u; slice++) {
        dy_tile[lane] = sums[slice];
        workgroupBarrier();
        if (local.z == slice) {
            let at = lane % 64u;
            let sum = (dy_tile[at] + dy_tile[at + 64u]) + (dy_tile[at + 128u] + dy_tile[at + 192u]);
            add(panel, local.x, first_input_quad + local.y, slice, sum);
        }
        workgroupBarrier();
    }
}
