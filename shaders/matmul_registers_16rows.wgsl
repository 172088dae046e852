// A linear layer: sixteen outputs of sixteen rows per invocation, two panels of 64 outputs per workgroup; see
// matmul_registers.wgsl. Half as many readings of weights for a product, and more sums on the stack.
// uses: shared/linear.wgsl, shared/plain_inputs.wgsl, shared/inputs_of_rows*.wgsl, shared/read_*.wgsl, shared/weights_*.wgsl, shared/multiply_add.wgsl, shared/multiply_add_rows.wgsl, shared/grid.wgsl

@compute @workgroup_size(8)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row_blocks = (p.rows + 15u) / 16u;
    let group = flat_workgroup(workgroup, workgroups);
    let row = group % row_blocks * 16u;
    let first_quad = group / row_blocks * 32u + lane * 2u;
    let upper_rows = rows_from(row, lane);
    let lower_rows = rows_from(row + 8u, lane);
    // two neighbouring quads of a panel, and of the next one: a pair begins at an even one
    let last = (p.part_quads - 1u) / 2u * 2u;
    var block_ab = first_block(min(first_quad, last), p.input_quads);
    var block_cd = first_block(min(first_quad + 16u, last), p.input_quads);
    var a = array<vec4<f32>, 8>();
    var b = array<vec4<f32>, 8>();
    var c = array<vec4<f32>, 8>();
    var d = array<vec4<f32>, 8>();
    var e = array<vec4<f32>, 8>();
    var f = array<vec4<f32>, 8>();
    var g = array<vec4<f32>, 8>();
    var h = array<vec4<f32>, 8>();
    for (var k = zero(workgroup); k < p.input_quads; k++) {
        let ab = two_weights(block_ab);
        let cd = two_weights(block_cd);
        block_ab += BLOCK_STEP;
        block_cd += BLOCK_STEP;
        let upper = inputs_of_rows(upper_rows, k);
        a = multiply_add_rows(upper, ab[0], a);
        b = multiply_add_rows(upper, ab[1], b);
        c = multiply_add_rows(upper, cd[0], c);
        d = multiply_add_rows(upper, cd[1], d);
        let lower = inputs_of_rows(lower_rows, k);
        e = multiply_add_rows(lower, ab[0], e);
        f = multiply_add_rows(lower, ab[1], f);
        g = multiply_add_rows(lower, cd[0], g);
        h = multiply_add_rows(lower, cd[1], h);
    }
    var sums = array(a, b, c, d, e, f, g, h);
    for (var i = zero(workgroup); i < 64u; i++) {
        let quad = i / 8u % 4u;
        store(row + i / 32u * 8u + i % 8u, first_quad + quad / 2u * 16u + quad % 2u, sums[i / 8u][i % 8u]);
    }
}
