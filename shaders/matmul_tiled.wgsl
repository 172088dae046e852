// A linear layer: a tile of 64 rows and 64 outputs (one panel) per workgroup, four outputs of four rows per invocation.
// x and W pass through workgroup memory, sixteen inputs at a time.
// uses: shared/linear.wgsl, shared/plain_inputs.wgsl, shared/weights_*.wgsl, shared/multiply_add.wgsl, shared/grid.wgsl

var<workgroup> x_tile: array<vec4<f32>, 256>;  // [64 rows, 4 quads of inputs]
var<workgroup> w_tile: array<vec4<f32>, 256>;  // [16 inputs, 16 quads of outputs]

@compute @workgroup_size(16, 16)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row_blocks = (p.rows + 63u) / 64u;
    let group = flat_workgroup(workgroup, workgroups);
    let first_row = group % row_blocks * 64u;
    let panel = group / row_blocks;
    let row = first_row + local.y * 4u;
    let quad = panel * PANEL_QUADS + local.x;

    // this invocation's part of the tiles
    let x_quad = lane % 4u;
    let x_row = min(first_row + lane / 4u, p.rows - 1u) * p.input_quads;
    let w_quad = lane / 64u;
    let w_input = lane / 16u % 4u;
    let w_first = first_block(min(panel * PANEL_QUADS, p.part_quads - 1u), p.input_quads) + lane % 16u;

    var sum0 = vec4(0.0);
    var sum1 = vec4(0.0);
    var sum2 = vec4(0.0);
    var sum3 = vec4(0.0);
    for (var k = zero(workgroup); k < p.input_quads; k += 4u) {
        // zeros beyond the last input
        let inside = min(k + x_quad, p.input_quads - 1u);
        x_tile[lane] = select(vec4(0.0), x[x_row + inside], k + x_quad < p.input_quads);
        let block = w_first + min(k + w_quad, p.input_quads - 1u) * BLOCK_STEP;
        w_tile[lane] = select(vec4(0.0), weights_of_input(block, w_input), k + w_quad < p.input_quads);
        workgroupBarrier();
        for (var i = 0u; i < 4u; i++) {
            let at = i * 64u + local.x;
            let w = mat4x4(w_tile[at], w_tile[at + 16u], w_tile[at + 32u], w_tile[at + 48u]);
            sum0 = multiply_add(x_tile[local.y * 16u + i], w, sum0);
            sum1 = multiply_add(x_tile[local.y * 16u + 4u + i], w, sum1);
            sum2 = multiply_add(x_tile[local.y * 16u + 8u + i], w, sum2);
            sum3 = multiply_add(x_tile[local.y * 16u + 12u + i], w, sum3);
        }
        workgroupBarrier();
    }
    store(row, quad, sum0);
    store(row + 1u, quad, sum1);
    store(row + 2u, quad, sum2);
    store(row + 3u, quad, sum3);
}
