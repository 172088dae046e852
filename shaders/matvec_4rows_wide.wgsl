// As matvec_wide.wgsl, for four rows: sixteen outputs of four rows per invocation, two panels per workgroup.
// uses: shared/linear.wgsl, shared/plain_inputs.wgsl, shared/four_rows.wgsl, shared/weights_*.wgsl, shared/multiply_add.wgsl, shared/grid.wgsl

@compute @workgroup_size(8)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row_blocks = (p.rows + 3u) / 4u;
    let group = flat_workgroup(workgroup, workgroups);
    let row = group % row_blocks * 4u;
    let first_quad = group / row_blocks * 32u + lane * 2u;
    let starts = four_rows(row);
    // two neighbouring quads of a panel, and of the next one: a pair begins at an even one
    let last = (p.part_quads - 1u) / 2u * 2u;
    var block_ab = first_block(min(first_quad, last), p.input_quads);
    var block_cd = first_block(min(first_quad + 16u, last), p.input_quads);
    var a = mat4x4<f32>();
    var b = mat4x4<f32>();
    var c = mat4x4<f32>();
    var d = mat4x4<f32>();
    for (var k = zero(workgroup); k < p.input_quads; k++) {
        let inputs = inputs_of_rows(starts, k);
        a = multiply_add_rows(inputs, weights(block_ab), a);
        b = multiply_add_rows(inputs, weights(block_ab + 1u), b);
        c = multiply_add_rows(inputs, weights(block_cd), c);
        d = multiply_add_rows(inputs, weights(block_cd + 1u), d);
        block_ab += BLOCK_STEP;
        block_cd += BLOCK_STEP;
    }
    // not unrolled: a driver would compile `store` 16 times. A copy, because an indexed variable would always be in
    // memory.
    var sums = array(a, b, c, d);
    for (var i = zero(workgroup); i < 16u; i++) {
        let quad = i / 4u;
        store(row + i % 4u, first_quad + quad / 2u * 16u + quad % 2u, sums[quad][i % 4u]);
    }
}
