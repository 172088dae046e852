// The gradient of a linear layer's input: dx = earlier + scale · dy · W. A tile of 64 rows and 64 inputs per workgroup,
// four inputs of four rows per invocation. dy and W pass through workgroup memory, sixteen outputs at a time.
// uses: shared/input_gradient.wgsl, shared/weights_f32.wgsl, shared/multiply_add.wgsl, shared/grid.wgsl

var<workgroup> dy_tile: array<vec4<f32>, 256>;  // [64 rows, 4 quads of outputs]
// [4 quads of outputs, 4 inputs of a quad, 16 quads of inputs, and one against bank conflicts]
var<workgroup> w_tile: array<vec4<f32>, 272>;

@compute @workgroup_size(16, 16)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row_blocks = (p.rows + 63u) / 64u;
    let group = flat_workgroup(workgroup, workgroups);
    if (group >= row_blocks * ((p.input_quads + 15u) / 16u)) {
        return;
    }
    let first_row = group % row_blocks * 64u;
    let first_input_quad = group / row_blocks * 16u;

    // this invocation's part of the tiles
    let tile_quad = lane % 4u;
    let w_input = lane / 4u;
    let w_place = (4u * tile_quad + w_input % 4u) * 17u + w_input / 4u;

    var sum0 = vec4(0.0);
    var sum1 = vec4(0.0);
    var sum2 = vec4(0.0);
    var sum3 = vec4(0.0);
    for (var k = zero(workgroup); k < p.part_quads; k += 4u) {
        dy_tile[lane] = output_quad(first_row + lane / 4u, k + tile_quad);
        w_tile[w_place] = weight_quad(k + tile_quad, 4u * first_input_quad + w_input);
        workgroupBarrier();
        for (var i = 0u; i < 4u; i++) {
            let at = 68u * i + local.x;
            // a row for each output, a column for each input
            let w = transpose(mat4x4(w_tile[at], w_tile[at + 17u], w_tile[at + 34u], w_tile[at + 51u]));
            sum0 = multiply_add(dy_tile[local.y * 16u + i], w, sum0);
            sum1 = multiply_add(dy_tile[local.y * 16u + 4u + i], w, sum1);
            sum2 = multiply_add(dy_tile[local.y * 16u + 8u + i], w, sum2);
            sum3 = multiply_add(dy_tile[local.y * 16u + 12u + i], w, sum3);
        }
        workgroupBarrier();
    }
    let row = first_row + local.y * 4u;
    let quad = first_input_quad + local.x;
    store(row, quad, sum0);
    store(row + 1u, quad, sum1);
    store(row + 2u, quad, sum2);
    store(row + 3u, quad, sum3);
}
