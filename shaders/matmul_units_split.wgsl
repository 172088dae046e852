// A linear layer on matrix units, for few tiles: 32 rows and 32 outputs (half a panel) per workgroup, 128 inputs at a time. Each
// of eight subgroups has 16 of these inputs. While a tile is multiplied, the next one is read.
// uses: shared/unit_layer.wgsl, shared/matrix_units.wgsl, shared/linear.wgsl, shared/plain_inputs.wgsl, shared/weights_*.wgsl, shared/grid.wgsl
enable f16;
enable wgpu_cooperative_matrix;

// Quads of a row in workgroup memory, and two or one more so that neighbouring rows start in different banks.
const X_STRIDE: u32 = 34u;
const W_STRIDE: u32 = 10u;

var<workgroup> x_high: array<vec4<f16>, 1088>;  // [32 rows, 128 inputs]
var<workgroup> x_low: array<vec4<f16>, 1088>;   // [32 rows, 128 inputs]
var<workgroup> w_tile: array<vec4<f16>, 1280>;  // [128 inputs, 32 outputs]

const SUMS_STRIDE: u32 = 5u;
var<workgroup> sums: array<vec4<f32>, 8u * SUMS>;  // of all subgroups

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row_blocks = (p.rows + 31u) / 32u;
    let group = flat_workgroup(workgroup, workgroups);
    let first_row = group % row_blocks * 32u;
    let first_quad = group / row_blocks * 8u;

    // this lane's part of the tiles: a quad of inputs of four rows of x, and of four outputs of W
    let x_quad = lane % 32u;
    let starts = row_starts(first_row + lane / 32u, 8u);
    let x_at = lane / 32u * X_STRIDE + x_quad;
    let column = lane % 8u;
    let part = lane / 8u;
    let w_quad = min(first_quad, p.part_quads - 1u) / 8u * 8u;
    let block = first_block(w_quad, p.input_quads) + column;
    let w_at = 4u * part * W_STRIDE + column;

    let subgroup = lane / 32u;
    var high_00: coop_mat16x16<f32, C>;
    var high_01: coop_mat16x16<f32, C>;
    var high_10: coop_mat16x16<f32, C>;
    var high_11: coop_mat16x16<f32, C>;
    var low_00: coop_mat16x16<f32, C>;
    var low_01: coop_mat16x16<f32, C>;
    var low_10: coop_mat16x16<f32, C>;
    var low_11: coop_mat16x16<f32, C>;

    var next_x = scaled_inputs(starts, x_quad);
    var next_w = weights_inside(block, part);
    let nothing = zero(workgroup);
    for (var k = nothing; k < p.input_quads; k += 32u) {
        let high_0 = high_of(next_x[0], nothing);
        let high_1 = high_of(next_x[1], nothing);
        let high_2 = high_of(next_x[2], nothing);
        let high_3 = high_of(next_x[3], nothing);
        x_high[x_at] = vec4<f16>(high_0);
        x_high[x_at + 8u * X_STRIDE] = vec4<f16>(high_1);
        x_high[x_at + 16u * X_STRIDE] = vec4<f16>(high_2);
        x_high[x_at + 24u * X_STRIDE] = vec4<f16>(high_3);
        x_low[x_at] = low_of(next_x[0], high_0);
        x_low[x_at + 8u * X_STRIDE] = low_of(next_x[1], high_1);
        x_low[x_at + 16u * X_STRIDE] = low_of(next_x[2], high_2);
        x_low[x_at + 24u * X_STRIDE] = low_of(next_x[3], high_3);
        w_tile[w_at] = vec4<f16>(next_w[0]);
        w_tile[w_at + W_STRIDE] = vec4<f16>(next_w[1]);
        w_tile[w_at + 2u * W_STRIDE] = vec4<f16>(next_w[2]);
        w_tile[w_at + 3u * W_STRIDE] = vec4<f16>(next_w[3]);
        workgroupBarrier();
        next_x = scaled_inputs(starts, k + 32u + x_quad);
        next_w = weights_inside(block, k + 32u + part);
        let x_high_0 = coopLoadT<coop_mat16x16<f16, A>>(&x_high[4u * subgroup], X_STRIDE);
        let x_high_1 = coopLoadT<coop_mat16x16<f16, A>>(&x_high[16u * X_STRIDE + 4u * subgroup], X_STRIDE);
        let x_low_0 = coopLoadT<coop_mat16x16<f16, A>>(&x_low[4u * subgroup], X_STRIDE);
        let x_low_1 = coopLoadT<coop_mat16x16<f16, A>>(&x_low[16u * X_STRIDE + 4u * subgroup], X_STRIDE);
        let w_0 = coopLoadT<coop_mat16x16<f16, B>>(&w_tile[16u * subgroup * W_STRIDE], W_STRIDE);
        let w_1 = coopLoadT<coop_mat16x16<f16, B>>(&w_tile[16u * subgroup * W_STRIDE + 4u], W_STRIDE);
        high_00 = coopMultiplyAdd(x_high_0, w_0, high_00);
        high_01 = coopMultiplyAdd(x_high_0, w_1, high_01);
        high_10 = coopMultiplyAdd(x_high_1, w_0, high_10);
        high_11 = coopMultiplyAdd(x_high_1, w_1, high_11);
        low_00 = coopMultiplyAdd(x_low_0, w_0, low_00);
        low_01 = coopMultiplyAdd(x_low_0, w_1, low_01);
        low_10 = coopMultiplyAdd(x_low_1, w_0, low_10);
        low_11 = coopMultiplyAdd(x_low_1, w_1, low_11);
        workgroupBarrier();
    }

    // the subgroups' sums, added up by two of them
    coopStoreT(high_00 + low_00 * LOW_UNIT, &sums[subgroup * SUMS], SUMS_STRIDE);
    workgroupBarrier();
    store_sums(0u, 8u, first_row, first_quad, lane, 256u);
    workgroupBarrier();
    coopStoreT(high_01 + low_01 * LOW_UNIT, &sums[subgroup * SUMS], SUMS_STRIDE);
    workgroupBarrier();
    store_sums(0u, 8u, first_row, first_quad + 4u, lane, 256u);
    workgroupBarrier();
    coopStoreT(high_10 + low_10 * LOW_UNIT, &sums[subgroup * SUMS], SUMS_STRIDE);
    workgroupBarrier();
    store_sums(0u, 8u, first_row + 16u, first_quad, lane, 256u);
    workgroupBarrier();
    coopStoreT(high_11 + low_11 * LOW_UNIT, &sums[subgroup * SUMS], SUMS_STRIDE);
    workgroupBarrier();
    store_sums(0u, 8u, first_row + 16u, first_quad + 4u, lane, 256u);
}
