// The gradient of a linear layer's input, as linear_input_gradient.wgsl, for few rows and inputs: 64 rows and 16 inputs
// per workgroup, so that a narrow layer with many outputs, as a vocabulary, has enough workgroups for a GPU. Four slices
// of the lanes share the outputs; each invocation has four inputs of four rows.
// uses: shared/input_gradient.wgsl, shared/weights_f32.wgsl, shared/multiply_add.wgsl, shared/grid.wgsl

// [8 quads of outputs, 4 rows of a group, 16 groups of rows, and one against bank conflicts]
var<workgroup> dy_tile: array<vec4<f32>, 544>;
var<workgroup> w_tile: array<vec4<f32>, 128>;  // [8 quads of outputs, 4 inputs of a quad, 4 quads of inputs]

@compute @workgroup_size(4, 16, 4)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row_blocks = (p.rows + 63u) / 64u;
    let group = flat_workgroup(workgroup, workgroups);
    if (group >= row_blocks * ((p.input_quads + 3u) / 4u)) {
        return;
    }
    let first_row = group % row_blocks * 64u;
    let first_input_quad = group / row_blocks * 4u;

    // this invocation's part of the tiles
    let tile_row = lane / 4u;
    let dy_quad = lane % 4u;
    let dy_place = (4u * dy_quad + tile_row % 4u) * 17u + tile_row / 4u;
    let w_input = lane / 8u;
    let w_quad = lane % 8u;

    var sums = array<vec4<f32>, 4>();
    for (var k = zero(workgroup); k < p.part_quads; k += 8u) {
        dy_tile[dy_place] = output_quad(first_row + tile_row, k + dy_quad);
        dy_tile[dy_place + 272u] = output_quad(first_row + tile_row, k + 4u + dy_quad);
        if (lane < 128u) {
            w_tile[(4u * w_quad + w_input % 4u) * 4u + w_input / 4u] =
                weight_quad(k + w_quad, 4u * first_input_quad + w_input);
        }
        workgroupBarrier();
        for (var i = 2u * local.z; i < 2u * local.z + 2u; i++) {
            let at = 16u * i + local.x;
            // a row for each output, a column for each input
            let w = transpose(mat4x4(w_tile[at], w_tile[at + 4u], w_tile[at + 8u], w_tile[at + 12u]));
            let row = 68u * i + local.y;
            sums[0] = multiply_add(dy_tile[row], w, sums[0]);
            sums[1] = multiply_add(dy_tile[row + 17u], w, sums[1]);
            sums[2] = multiply_add(dy_tile[row + 34u], w, sums[2]);
            sums[3] = multiply_add(dy_tile[row + 51u], w, sums[3]);
        }
        workgroupBarrier();
    }
    // slice s adds up row s of each group
    for (var slice = 0u; slice < 4u; slice++) {
        dy_tile[lane] = sums[slice];
        workgroupBarrier();
        if (local.z == slice) {
            let at = lane % 64u;
            let sum = (dy_tile[at] + dy_tile[at + 64u]) + (dy_tile[at + 128u] + dy_tile[at + 192u]);
            store(first_row + 4u * local.y + slice, first_input_quad + local.x, sum);
        }
        workgroupBarrier();
    }
}
