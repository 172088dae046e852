// A linear layer: four outputs of four rows per invocation.
// uses: shared/linear.wgsl, shared/multiply_add.wgsl, shared/grid.wgsl
override LANES: u32 = 64u;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let groups_per_row = (p.part_quads + LANES - 1u) / LANES;
    let group = flat_workgroup(workgroup, workgroups);
    let row = group / groups_per_row * 4u;
    let quad = group % groups_per_row * LANES + lane;
    let x0 = min(row, p.rows - 1u) * p.input_quads;
    let x1 = min(row + 1u, p.rows - 1u) * p.input_quads;
    let x2 = min(row + 2u, p.rows - 1u) * p.input_quads;
    let x3 = min(row + 3u, p.rows - 1u) * p.input_quads;
    var w = weights_of(min(quad, p.part_quads - 1u));
    var sum0 = vec4(0.0);
    var sum1 = vec4(0.0);
    var sum2 = vec4(0.0);
    var sum3 = vec4(0.0);
    for (var k = zero(workgroup); k < p.input_quads; k++) {
        let w0 = weight[w];
        let w1 = weight[w + 16u];
        let w2 = weight[w + 32u];
        let w3 = weight[w + 48u];
        w += 64u;
        sum0 = multiply_add(x[x0 + k], w0, w1, w2, w3, sum0);
        sum1 = multiply_add(x[x1 + k], w0, w1, w2, w3, sum1);
        sum2 = multiply_add(x[x2 + k], w0, w1, w2, w3, sum2);
        sum3 = multiply_add(x[x3 + k], w0, w1, w2, w3, sum3);
    }
    store(row, quad, sum0);
    store(row + 1u, quad, sum1);
    store(row + 2u, quad, sum2);
    store(row + 3u, quad, sum3);
}
