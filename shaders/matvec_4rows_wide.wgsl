// A linear layer: sixteen outputs of four rows per invocation, two panels of 64 outputs per workgroup; see
// matvec_wide.wgsl.
// uses: shared/linear.wgsl, shared/plain_inputs.wgsl, shared/weights_*.wgsl, shared/multiply_add.wgsl, shared/grid.wgsl

@compute @workgroup_size(8)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row_blocks = (p.rows + 3u) / 4u;
    let group = flat_workgroup(workgroup, workgroups);
    let row = group % row_blocks * 4u;
    let first_quad = group / row_blocks * 32u + lane;
    let last = p.part_quads - 1u;
    var block_a = first_block(min(first_quad, last), p.input_quads);
    var block_b = first_block(min(first_quad + 8u, last), p.input_quads);
    var block_c = first_block(min(first_quad + 16u, last), p.input_quads);
    var block_d = first_block(min(first_quad + 24u, last), p.input_quads);
    let last_row = p.rows - 1u;
    let x0 = min(row, last_row) * p.input_quads;
    let x1 = min(row + 1u, last_row) * p.input_quads;
    let x2 = min(row + 2u, last_row) * p.input_quads;
    let x3 = min(row + 3u, last_row) * p.input_quads;
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
        let wa = weights(block_a);
        let wb = weights(block_b);
        let wc = weights(block_c);
        let wd = weights(block_d);
        block_a += BLOCK_STEP;
        block_b += BLOCK_STEP;
        block_c += BLOCK_STEP;
        block_d += BLOCK_STEP;
        let v0 = x[x0 + k];
        a0 = multiply_add(v0, wa, a0);
        b0 = multiply_add(v0, wb, b0);
        c0 = multiply_add(v0, wc, c0);
        d0 = multiply_add(v0, wd, d0);
        let v1 = x[x1 + k];
        a1 = multiply_add(v1, wa, a1);
        b1 = multiply_add(v1, wb, b1);
        c1 = multiply_add(v1, wc, c1);
        d1 = multiply_add(v1, wd, d1);
        let v2 = x[x2 + k];
        a2 = multiply_add(v2, wa, a2);
        b2 = multiply_add(v2, wb, b2);
        c2 = multiply_add(v2, wc, c2);
        d2 = multiply_add(v2, wd, d2);
        let v3 = x[x3 + k];
        a3 = multiply_add(v3, wa, a3);
        b3 = multiply_add(v3, wb, b3);
        c3 = multiply_add(v3, wc, c3);
        d3 = multiply_add(v3, wd, d3);
    }
    // not unrolled: a driver would compile all that `store` does 16 times
    var sums = array(
        a0, b0, c0, d0, a1, b1, c1, d1,
        a2, b2, c2, d2, a3, b3, c3, d3,
    );
    for (var i = zero(workgroup); i < 16u; i++) {
        store(row + i / 4u, first_quad + i % 4u * 8u, sums[i]);
    }
}
