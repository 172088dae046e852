// A linear layer: sixteen outputs of four rows per invocation, two panels of 64 outputs per workgroup; see
// matvec_wide.wgsl.
// uses: shared/linear.wgsl, shared/plain_inputs.wgsl, shared/inputs_of_rows*.wgsl, shared/read_*.wgsl, shared/weights_*.wgsl, shared/multiply_add.wgsl, shared/grid.wgsl

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
    let rows = rows_from(row, lane);
    // two neighbouring quads of a panel, and of the next one: a pair begins at an even one
    let last = (p.part_quads - 1u) / 2u * 2u;
    var block_ab = first_block(min(first_quad, last), p.input_quads);
    var block_cd = first_block(min(first_quad + 16u, last), p.input_quads);
    var a0 = vec4(0.0);
    var b0 = vec4(0.0);
    var c0 = vec4(0.0);
    var d0 = vec4(0.0);
    var a1 = vec4(0.0);
    var b1 = vec4(0.0);
    var c1 = vec4(0.0);
    var d1 = vec4(0.0);
    var a2 = vec4(0.0);
    var b2 = vec4(0.0);
    var c2 = vec4(0.0);
    var d2 = vec4(0.0);
    var a3 = vec4(0.0);
    var b3 = vec4(0.0);
    var c3 = vec4(0.0);
    var d3 = vec4(0.0);
    for (var k = zero(workgroup); k < p.input_quads; k++) {
        let ab = two_weights(block_ab);
        let cd = two_weights(block_cd);
        block_ab += BLOCK_STEP;
        block_cd += BLOCK_STEP;
        let inputs = inputs_of_rows(rows, k);
        a0 = multiply_add(inputs[0], ab[0], a0);
        b0 = multiply_add(inputs[0], ab[1], b0);
        c0 = multiply_add(inputs[0], cd[0], c0);
        d0 = multiply_add(inputs[0], cd[1], d0);
        a1 = multiply_add(inputs[1], ab[0], a1);
        b1 = multiply_add(inputs[1], ab[1], b1);
        c1 = multiply_add(inputs[1], cd[0], c1);
        d1 = multiply_add(inputs[1], cd[1], d1);
        a2 = multiply_add(inputs[2], ab[0], a2);
        b2 = multiply_add(inputs[2], ab[1], b2);
        c2 = multiply_add(inputs[2], cd[0], c2);
        d2 = multiply_add(inputs[2], cd[1], d2);
        a3 = multiply_add(inputs[3], ab[0], a3);
        b3 = multiply_add(inputs[3], ab[1], b3);
        c3 = multiply_add(inputs[3], cd[0], c3);
        d3 = multiply_add(inputs[3], cd[1], d3);
    }
    // not unrolled: a driver would compile all that `store` does 16 times
    var sums = array(
        a0, b0, c0, d0, a1, b1, c1, d1,
        a2, b2, c2, d2, a3, b3, c3, d3,
    );
    for (var i = zero(workgroup); i < 16u; i++) {
        store(row + i / 4u, first_quad + i / 2u % 2u * 16u + i % 2u, sums[i]);
    }
}
