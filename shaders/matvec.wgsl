// A linear layer: four outputs of one row per invocation.
// uses: shared/linear.wgsl, shared/plain_inputs.wgsl, shared/weights_*.wgsl, shared/multiply_add.wgsl, shared/grid.wgsl
const LANES: u32 = 16u;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let groups_per_row = (p.part_quads + LANES - 1u) / LANES;
    let group = flat_workgroup(workgroup, workgroups);
    let row = group / groups_per_row;
    let quad = group % groups_per_row * LANES + lane;
    let x_row = min(row, p.rows - 1u) * p.input_quads;
    var block = first_block(min(quad, p.part_quads - 1u), p.input_quads);
    var sum = vec4(0.0);
    for (var k = zero(workgroup); k < p.input_quads; k++) {
        sum = multiply_add(x[x_row + k], weights(block), sum);
        block += BLOCK_STEP;
    }
    store(row, quad, sum);
}
