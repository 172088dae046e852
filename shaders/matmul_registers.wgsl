// A linear layer: sixteen outputs of eight rows per invocation, two panels of 64 outputs per workgroup. Everything stays in
// registers, or on a stack that is near: on software adapters barriers cost more than all that a shared tile saves, and
// readings of x and W more than sums that do not fit. Unrolled by hand, because drivers do not reliably do it.
// uses: shared/linear.wgsl, shared/plain_inputs.wgsl, shared/weights_*.wgsl, shared/multiply_add.wgsl, shared/grid.wgsl

@compute @workgroup_size(8)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row_blocks = (p.rows + 7u) / 8u;
    let group = flat_workgroup(workgroup, workgroups);
    let row = group % row_blocks * 8u;
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
    let x4 = min(row + 4u, last_row) * p.input_quads;
    let x5 = min(row + 5u, last_row) * p.input_quads;
    let x6 = min(row + 6u, last_row) * p.input_quads;
    let x7 = min(row + 7u, last_row) * p.input_quads;
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
    var a4 = vec4(0.0);
    var b4 = vec4(0.0);
    var c4 = vec4(0.0);
    var d4 = vec4(0.0);
    var a5 = vec4(0.0);
    var b5 = vec4(0.0);
    var c5 = vec4(0.0);
    var d5 = vec4(0.0);
    var a6 = vec4(0.0);
    var b6 = vec4(0.0);
    var c6 = vec4(0.0);
    var d6 = vec4(0.0);
    var a7 = vec4(0.0);
    var b7 = vec4(0.0);
    var c7 = vec4(0.0);
    var d7 = vec4(0.0);
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
        let v4 = x[x4 + k];
        a4 = multiply_add(v4, wa, a4);
        b4 = multiply_add(v4, wb, b4);
        c4 = multiply_add(v4, wc, c4);
        d4 = multiply_add(v4, wd, d4);
        let v5 = x[x5 + k];
        a5 = multiply_add(v5, wa, a5);
        b5 = multiply_add(v5, wb, b5);
        c5 = multiply_add(v5, wc, c5);
        d5 = multiply_add(v5, wd, d5);
        let v6 = x[x6 + k];
        a6 = multiply_add(v6, wa, a6);
        b6 = multiply_add(v6, wb, b6);
        c6 = multiply_add(v6, wc, c6);
        d6 = multiply_add(v6, wd, d6);
        let v7 = x[x7 + k];
        a7 = multiply_add(v7, wa, a7);
        b7 = multiply_add(v7, wb, b7);
        c7 = multiply_add(v7, wc, c7);
        d7 = multiply_add(v7, wd, d7);
    }
    // not unrolled: a driver would compile all that `store` does 32 times
    var sums = array(
        a0, b0, c0, d0, a1, b1, c1, d1,
        a2, b2, c2, d2, a3, b3, c3, d3,
        a4, b4, c4, d4, a5, b5, c5, d5,
        a6, b6, c6, d6, a7, b7, c7, d7,
    );
    for (var i = zero(workgroup); i < 32u; i++) {
        store(row + i / 4u, first_quad + i % 4u * 8u, sums[i]);
    }
}
