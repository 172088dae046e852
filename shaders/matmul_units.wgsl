// A linear layer on matrix units: a tile of 64 rows and 64 outputs (one panel) per workgroup, 64 inputs at a time. Each of
// eight subgroups has 16 rows and 32 outputs. While a tile is multiplied, the next one is read.
// uses: shared/matrix_units.wgsl, shared/linear.wgsl, shared/plain_inputs.wgsl, shared/weights_*.wgsl, shared/grid.wgsl
enable f16;
enable wgpu_cooperative_matrix;

// Quads of a row in workgroup memory: 16, and two so that neighbouring rows start in different banks.
const STRIDE: u32 = 18u;

var<workgroup> x_high: array<vec4<f16>, 1152>;  // [64 rows, 64 inputs]
var<workgroup> x_low: array<vec4<f16>, 1152>;   // [64 rows, 64 inputs]
var<workgroup> w_tile: array<vec4<f16>, 1152>;  // [64 inputs, 64 outputs]

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row_blocks = (p.rows + 63u) / 64u;
    let group = flat_workgroup(workgroup, workgroups);
    let first_row = group % row_blocks * 64u;
    let panel = group / row_blocks;

    // this lane's part of the tiles: a quad of inputs of four rows of x, and of four outputs of W
    let column = lane % 16u;
    let part = lane / 16u;
    let starts = row_starts(first_row + part, 16u);
    let block = first_block(min(panel * PANEL_QUADS, p.part_quads - 1u), p.input_quads) + column;
    let x_at = part * STRIDE + column;
    let w_at = 4u * part * STRIDE + column;

    let subgroup = lane / 32u;
    let tile_row = subgroup / 2u * 16u;
    let tile_quad = subgroup % 2u * 8u;
    var high_left: coop_mat16x16<f32, C>;
    var high_right: coop_mat16x16<f32, C>;
    var low_left: coop_mat16x16<f32, C>;
    var low_right: coop_mat16x16<f32, C>;

    var next_x = scaled_inputs(starts, column);
    var next_w = weights_inside(block, part);
    let nothing = zero(workgroup);
    for (var k = nothing; k < p.input_quads; k += 16u) {
        let high_0 = high_of(next_x[0], nothing);
        let high_1 = high_of(next_x[1], nothing);
        let high_2 = high_of(next_x[2], nothing);
        let high_3 = high_of(next_x[3], nothing);
        x_high[x_at] = vec4<f16>(high_0);
        x_high[x_at + 16u * STRIDE] = vec4<f16>(high_1);
        x_high[x_at + 32u * STRIDE] = vec4<f16>(high_2);
        x_high[x_at + 48u * STRIDE] = vec4<f16>(high_3);
        x_low[x_at] = low_of(next_x[0], high_0);
        x_low[x_at + 16u * STRIDE] = low_of(next_x[1], high_1);
        x_low[x_at + 32u * STRIDE] = low_of(next_x[2], high_2);
        x_low[x_at + 48u * STRIDE] = low_of(next_x[3], high_3);
        w_tile[w_at] = vec4<f16>(next_w[0]);
        w_tile[w_at + STRIDE] = vec4<f16>(next_w[1]);
        w_tile[w_at + 2u * STRIDE] = vec4<f16>(next_w[2]);
        w_tile[w_at + 3u * STRIDE] = vec4<f16>(next_w[3]);
        workgroupBarrier();
        next_x = scaled_inputs(starts, k + 16u + column);
        next_w = weights_inside(block, k + 16u + part);
        for (var i = 0u; i < 16u; i += 4u) {
            let high = coopLoadT<coop_mat16x16<f16, A>>(&x_high[tile_row * STRIDE + i], STRIDE);
            let low = coopLoadT<coop_mat16x16<f16, A>>(&x_low[tile_row * STRIDE + i], STRIDE);
            let left = coopLoadT<coop_mat16x16<f16, B>>(&w_tile[4u * i * STRIDE + tile_quad], STRIDE);
            let right = coopLoadT<coop_mat16x16<f16, B>>(&w_tile[4u * i * STRIDE + tile_quad + 4u], STRIDE);
            high_left = coopMultiplyAdd(high, left, high_left);
            high_right = coopMultiplyAdd(high, right, high_right);
            low_left = coopMultiplyAdd(low, left, low_left);
            low_right = coopMultiplyAdd(low, right, low_right);
        }
        workgroupBarrier();
    }

    let row = first_row + tile_row;
    let quad = panel * PANEL_QUADS + tile_quad;
    coopStoreT(high_left + low_left * LOW_UNIT, &sums[subgroup * SUMS], SUMS_STRIDE);
    workgroupBarrier();
    store_sums(subgroup, 1u, row, quad, lane % 32u, 32u);
    workgroupBarrier();
    coopStoreT(high_right + low_right * LOW_UNIT, &sums[subgroup * SUMS], SUMS_STRIDE);
    workgroupBarrier();
    store_sums(subgroup, 1u, row, quad + 4u, lane % 32u, 32u);
}
