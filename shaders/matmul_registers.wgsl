// A linear layer: sixteen outputs of eight rows per invocation, two panels of 64 outputs per workgroup. Everything stays in
// registers, or on a stack that is near: on software adapters barriers cost more than all that a shared tile saves, and
// readings of x and W more than sums that do not fit.
// uses: shared/linear.wgsl, shared/plain_inputs.wgsl, shared/inputs_of_rows*.wgsl, shared/read_*.wgsl, shared/weights_*.wgsl, shared/multiply_add.wgsl, shared/multiply_add_rows.wgsl, shared/grid.wgsl

@compute @workgroup_size(8)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row_blocks = (p.rows + 7u) / 8u;
    let group = flat_workgroup(workgroup, workgroups);
    let row = group % row_blocks * 8u;
    let first_quad = group / row_blocks * 32u + lane * 2u;
    let rows = rows_from(row, lane);
    // two neighbouring quads of a panel, and of the next one: a pair begins at an even one
    let last = (p.part_quads - 1u) / 2u * 2u;
    var block_ab = first_block(min(first_quad, last), p.input_quads);
    var block_cd = first_block(min(first_quad + 16u, last), p.input_quads);
    var a = array<vec4<f32>, 8>();
    var b = array<vec4<f32>, 8>();
    var c = array<vec4<f32>, 8>();
    var d = array<vec4<f32>, 8>();
    for (var k = zero(workgroup); k < p.input_quads; k++) {
        let ab = two_weights(block_ab);
        let cd = two_weights(block_cd);
        block_ab += BLOCK_STEP;
        block_cd += BLOCK_STEP;
        let inputs = inputs_of_rows(rows, k);
        a = multiply_add_rows(inputs, ab[0], a);
        b = multiply_add_rows(inputs, ab[1], b);
        c = multiply_add_rows(inputs, cd[0], c);
        d = multiply_add_rows(inputs, cd[1], d);
    }
    // not unrolled: a driver would compile all that `store` does 32 times. Another variable, because one that is indexed so
    // would be in memory all along.
    var sums = array(a, b, c, d);
    for (var i = zero(workgroup); i < 32u; i++) {
        let quad = i / 8u;
        store(row + i % 8u, first_quad + quad / 2u * 16u + quad % 2u, sums[quad][i % 8u]);
    }
}
