// A linear layer: sixteen outputs of one row per invocation, two panels of 64 outputs per workgroup. On a software adapter
// every reading is a gather, so that an x that is read for sixteen outputs instead of four is most of what can be saved.
// uses: shared/linear.wgsl, shared/plain_inputs.wgsl, shared/weights_*.wgsl, shared/multiply_add.wgsl, shared/grid.wgsl

@compute @workgroup_size(8)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let group = flat_workgroup(workgroup, workgroups);
    let row = group % p.rows;
    let first_quad = group / p.rows * 32u + lane;
    let last = p.part_quads - 1u;
    var block_a = first_block(min(first_quad, last), p.input_quads);
    var block_b = first_block(min(first_quad + 8u, last), p.input_quads);
    var block_c = first_block(min(first_quad + 16u, last), p.input_quads);
    var block_d = first_block(min(first_quad + 24u, last), p.input_quads);
    let x_row = row * p.input_quads;
    var sum_a = vec4(0.0);
    var sum_b = vec4(0.0);
    var sum_c = vec4(0.0);
    var sum_d = vec4(0.0);
    for (var k = zero(workgroup); k < p.input_quads; k++) {
        let wa = weights(block_a);
        let wb = weights(block_b);
        let wc = weights(block_c);
        let wd = weights(block_d);
        block_a += BLOCK_STEP;
        block_b += BLOCK_STEP;
        block_c += BLOCK_STEP;
        block_d += BLOCK_STEP;
        let v = x[x_row + k];
        sum_a = multiply_add(v, wa, sum_a);
        sum_b = multiply_add(v, wb, sum_b);
        sum_c = multiply_add(v, wc, sum_c);
        sum_d = multiply_add(v, wd, sum_d);
    }
    // not unrolled: a driver would compile all that `store` does four times
    var sums = array(sum_a, sum_b, sum_c, sum_d);
    for (var i = zero(workgroup); i < 4u; i++) {
        store(row, first_quad + i * 8u, sums[i]);
    }
}
