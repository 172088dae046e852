// A linear layer: sixteen outputs of one row per invocation, two panels of 64 outputs per workgroup. On a software
// adapter every read is a gather, so each x is read once for sixteen outputs.
// uses: shared/linear.wgsl, shared/plain_inputs.wgsl, shared/weights_*.wgsl, shared/multiply_add.wgsl, shared/grid.wgsl

@compute @workgroup_size(8)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let group = flat_workgroup(workgroup, workgroups);
    let row = group % p.rows;
    let first_quad = group / p.rows * 32u + lane * 2u;
    // two neighbouring quads of a panel, and of the next one: a pair begins at an even one
    let last = (p.part_quads - 1u) / 2u * 2u;
    var block_ab = first_block(min(first_quad, last), p.input_quads);
    var block_cd = first_block(min(first_quad + 16u, last), p.input_quads);
    let x_row = row * p.input_quads;
    var sum_a = vec4(0.0);
    var sum_b = vec4(0.0);
    var sum_c = vec4(0.0);
    var sum_d = vec4(0.0);
    for (var k = zero(workgroup); k < p.input_quads; k++) {
        let v = x[x_row + k];
        sum_a = multiply_add(v, weights(block_ab), sum_a);
        sum_b = multiply_add(v, weights(block_ab + 1u), sum_b);
        sum_c = multiply_add(v, weights(block_cd), sum_c);
        sum_d = multiply_add(v, weights(block_cd + 1u), sum_d);
        block_ab += BLOCK_STEP;
        block_cd += BLOCK_STEP;
    }
    // not unrolled: a driver would compile `store` four times
    var sums = array(sum_a, sum_b, sum_c, sum_d);
    for (var i = zero(workgroup); i < 4u; i++) {
        store(row, first_quad + i / 2u * 16u + i % 2u, sums[i]);
    }
}
