// A linear layer: eight outputs of eight rows per invocation, one panel of 64 outputs per workgroup. Everything stays in
// registers: on software adapters barriers cost more than all that a shared tile saves. Unrolled by hand, because drivers
// do not reliably do it.
// uses: shared/linear.wgsl, shared/multiply_add.wgsl, shared/grid.wgsl

@compute @workgroup_size(8)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row_blocks = (p.rows + 7u) / 8u;
    let group = flat_workgroup(workgroup, workgroups);
    let row = group % row_blocks * 8u;
    let panel = group / row_blocks;
    let quad_a = panel * PANEL_QUADS + lane;
    let quad_b = quad_a + 8u;
    let last = p.rows - 1u;
    let x0 = min(row, last) * p.input_quads;
    let x1 = min(row + 1u, last) * p.input_quads;
    let x2 = min(row + 2u, last) * p.input_quads;
    let x3 = min(row + 3u, last) * p.input_quads;
    let x4 = min(row + 4u, last) * p.input_quads;
    let x5 = min(row + 5u, last) * p.input_quads;
    let x6 = min(row + 6u, last) * p.input_quads;
    let x7 = min(row + 7u, last) * p.input_quads;
    var a0 = vec4(0.0);
    var b0 = vec4(0.0);
    var a1 = vec4(0.0);
    var b1 = vec4(0.0);
    var a2 = vec4(0.0);
    var b2 = vec4(0.0);
    var a3 = vec4(0.0);
    var b3 = vec4(0.0);
    var a4 = vec4(0.0);
    var b4 = vec4(0.0);
    var a5 = vec4(0.0);
    var b5 = vec4(0.0);
    var a6 = vec4(0.0);
    var b6 = vec4(0.0);
    var a7 = vec4(0.0);
    var b7 = vec4(0.0);
    var w = weights_of(min(panel * PANEL_QUADS, p.part_quads - 1u)) + lane;
    for (var k = zero(workgroup); k < p.input_quads; k++) {
        let wa0 = weight[w];
        let wb0 = weight[w + 8u];
        let wa1 = weight[w + 16u];
        let wb1 = weight[w + 24u];
        let wa2 = weight[w + 32u];
        let wb2 = weight[w + 40u];
        let wa3 = weight[w + 48u];
        let wb3 = weight[w + 56u];
        w += 64u;
        let v0 = x[x0 + k];
        a0 = multiply_add(v0, wa0, wa1, wa2, wa3, a0);
        b0 = multiply_add(v0, wb0, wb1, wb2, wb3, b0);
        let v1 = x[x1 + k];
        a1 = multiply_add(v1, wa0, wa1, wa2, wa3, a1);
        b1 = multiply_add(v1, wb0, wb1, wb2, wb3, b1);
        let v2 = x[x2 + k];
        a2 = multiply_add(v2, wa0, wa1, wa2, wa3, a2);
        b2 = multiply_add(v2, wb0, wb1, wb2, wb3, b2);
        let v3 = x[x3 + k];
        a3 = multiply_add(v3, wa0, wa1, wa2, wa3, a3);
        b3 = multiply_add(v3, wb0, wb1, wb2, wb3, b3);
        let v4 = x[x4 + k];
        a4 = multiply_add(v4, wa0, wa1, wa2, wa3, a4);
        b4 = multiply_add(v4, wb0, wb1, wb2, wb3, b4);
        let v5 = x[x5 + k];
        a5 = multiply_add(v5, wa0, wa1, wa2, wa3, a5);
        b5 = multiply_add(v5, wb0, wb1, wb2, wb3, b5);
        let v6 = x[x6 + k];
        a6 = multiply_add(v6, wa0, wa1, wa2, wa3, a6);
        b6 = multiply_add(v6, wb0, wb1, wb2, wb3, b6);
        let v7 = x[x7 + k];
        a7 = multiply_add(v7, wa0, wa1, wa2, wa3, a7);
        b7 = multiply_add(v7, wb0, wb1, wb2, wb3, b7);
    }
    store(row, quad_a, a0);
    store(row, quad_b, b0);
    store(row + 1u, quad_a, a1);
    store(row + 1u, quad_b, b1);
    store(row + 2u, quad_a, a2);
    store(row + 2u, quad_b, b2);
    store(row + 3u, quad_a, a3);
    store(row + 3u, quad_b, b3);
    store(row + 4u, quad_a, a4);
    store(row + 4u, quad_b, b4);
    store(row + 5u, quad_a, a5);
    store(row + 5u, quad_b, b5);
    store(row + 6u, quad_a, a6);
    store(row + 6u, quad_b, b6);
    store(row + 7u, quad_a, a7);
    store(row + 7u, quad_b, b7);
}
