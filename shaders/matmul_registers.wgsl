// A linear layer: sixteen outputs of eight rows per invocation, two panels of 64 outputs per workgroup. All values stay
// in registers or on the stack: on software adapters, barriers cost more than a shared tile saves, and reads of x and W
// cost more than spilled sums.
// uses: shared/linear.wgsl, shared/plain_inputs.wgsl, shared/four_rows.wgsl, shared/weights_*.wgsl, shared/multiply_add.wgsl, shared/grid.wgsl

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
    let upper_starts = four_rows(row);
    let lower_starts = four_rows(row + 4u);
    // two neighbouring quads of a panel, and of the next one: a pair begins at an even one
    let last = (p.part_quads - 1u) / 2u * 2u;
    var block_ab = first_block(min(first_quad, last), p.input_quads);
    var block_cd = first_block(min(first_quad + 16u, last), p.input_quads);
    // the upper four rows, and the lower four
    var a = array<mat4x4<f32>, 2>();
    var b = array<mat4x4<f32>, 2>();
    var c = array<mat4x4<f32>, 2>();
    var d = array<mat4x4<f32>, 2>();
    for (var k = zero(workgroup); k < p.input_quads; k++) {
        let upper = inputs_of_rows(upper_starts, k);
        let lower = inputs_of_rows(lower_starts, k);
        a = multiply_add_eight(upper, lower, weights(block_ab), a);
        b = multiply_add_eight(upper, lower, weights(block_ab + 1u), b);
        c = multiply_add_eight(upper, lower, weights(block_cd), c);
        d = multiply_add_eight(upper, lower, weights(block_cd + 1u), d);
        block_ab += BLOCK_STEP;
        block_cd += BLOCK_STEP;
    }
    // not unrolled: a driver would compile `store` 32 times. A copy, because an indexed variable would always be in
    // memory.
    var sums = array(a, b, c, d);
    for (var i = zero(workgroup); i < 32u; i++) {
        let quad = i / 8u;
        store(row + i % 8u, first_quad + quad / 2u * 16u + quad % 2u, sums[quad][i / 4u % 2u][i % 4u]);
    }
}

fn multiply_add_eight(
    upper: mat4x4<f32>,
    lower: mat4x4<f32>,
    w: mat4x4<f32>,
    sums: array<mat4x4<f32>, 2>,
) -> array<mat4x4<f32>, 2> {
    return array(multiply_add_rows(upper, w, sums[0]), multiply_add_rows(lower, w, sums[1]));
}
