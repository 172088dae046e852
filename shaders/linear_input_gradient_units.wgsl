// The gradient of a linear layer's input, as linear_input_gradient.wgsl, on matrix units: a tile of 64 rows and 64 inputs per
// workgroup, 32 outputs at a time. While a tile is multiplied, the next one is read.
// uses: shared/unit_gradient.wgsl, shared/matrix_units.wgsl, shared/input_gradient.wgsl, shared/weights_f32.wgsl, shared/grid.wgsl
enable f16;
enable wgpu_cooperative_matrix;

@group(0) @binding(4) var<storage, read> largest: array<f32>;  // of shares of dy, see largest.wgsl

// Operands are [64 rows or inputs, 32 outputs]. Quads of a row, and two more so that neighbouring rows start in different banks.
const STRIDE: u32 = 10u;
const OPERAND_QUADS: u32 = 64u * STRIDE;

@compute @workgroup_size(128)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row_blocks = (p.rows + 63u) / 64u;
    let input_blocks = (p.input_quads + 15u) / 16u;
    let group = flat_workgroup(workgroup, workgroups);
    let share = group / (row_blocks * input_blocks);
    let first_quad = share * p.share_quads;
    let first_row = group % row_blocks * 64u;
    let first_input_quad = group / row_blocks % input_blocks * 16u;
    let scale = scale_of_gradient(lane);

    // this lane's part of the tiles: a quad of outputs of four rows of dy, and of four inputs of W
    let column = lane % 8u;
    let part = lane / 8u;
    let at = part * STRIDE + column;

    let subgroup = lane / 32u;
    let tile_row = subgroup / 2u * 32u;
    let tile_input = subgroup % 2u * 32u;
    var high_00: coop_mat16x16<f32, C>;
    var high_01: coop_mat16x16<f32, C>;
    var high_10: coop_mat16x16<f32, C>;
    var high_11: coop_mat16x16<f32, C>;
    var low_00: coop_mat16x16<f32, C>;
    var low_01: coop_mat16x16<f32, C>;
    var low_10: coop_mat16x16<f32, C>;
    var low_11: coop_mat16x16<f32, C>;

    var next_dy = gradients_of_rows(first_row + part, first_quad + column);
    var next_w = weights_of_inputs(4u * first_input_quad + part, first_quad + column);
    let nothing = zero(workgroup);
    let end = min(first_quad + p.share_quads, p.part_quads);
    for (var k = nothing + first_quad; k < end; k += 8u) {
        for (var i = 0u; i < 4u; i++) {
            stage_a(at + 16u * i * STRIDE, next_dy[i] * scale, nothing);
            stage_b(at + 16u * i * STRIDE, next_w[i] * UNIT_SCALE, nothing);
        }
        workgroupBarrier();
        next_dy = gradients_of_rows(first_row + part, k + 8u + column);
        next_w = weights_of_inputs(4u * first_input_quad + part, k + 8u + column);
        for (var i = 0u; i < 8u; i += 4u) {
            let a_high_0 = coopLoadT<coop_mat16x16<f16, A>>(&a_high[tile_row * STRIDE + i], STRIDE);
            let a_high_1 = coopLoadT<coop_mat16x16<f16, A>>(&a_high[(tile_row + 16u) * STRIDE + i], STRIDE);
            let a_low_0 = coopLoadT<coop_mat16x16<f16, A>>(&a_low[tile_row * STRIDE + i], STRIDE);
            let a_low_1 = coopLoadT<coop_mat16x16<f16, A>>(&a_low[(tile_row + 16u) * STRIDE + i], STRIDE);
            // a column for each input
            let b_high_0 = coopLoad<coop_mat16x16<f16, B>>(&b_high[tile_input * STRIDE + i], STRIDE);
            let b_high_1 = coopLoad<coop_mat16x16<f16, B>>(&b_high[(tile_input + 16u) * STRIDE + i], STRIDE);
            let b_low_0 = coopLoad<coop_mat16x16<f16, B>>(&b_low[tile_input * STRIDE + i], STRIDE);
            let b_low_1 = coopLoad<coop_mat16x16<f16, B>>(&b_low[(tile_input + 16u) * STRIDE + i], STRIDE);
            high_00 = coopMultiplyAdd(a_high_0, b_high_0, high_00);
            high_01 = coopMultiplyAdd(a_high_0, b_high_1, high_01);
            high_10 = coopMultiplyAdd(a_high_1, b_high_0, high_10);
            high_11 = coopMultiplyAdd(a_high_1, b_high_1, high_11);
            low_00 = coopMultiplyAdd(a_low_0, b_high_0, low_00);
            low_01 = coopMultiplyAdd(a_low_0, b_high_1, low_01);
            low_10 = coopMultiplyAdd(a_low_1, b_high_0, low_10);
            low_11 = coopMultiplyAdd(a_low_1, b_high_1, low_11);
            low_00 = coopMultiplyAdd(a_high_0, b_low_0, low_00);
            low_01 = coopMultiplyAdd(a_high_0, b_low_1, low_01);
            low_10 = coopMultiplyAdd(a_high_1, b_low_0, low_10);
            low_11 = coopMultiplyAdd(a_high_1, b_low_1, low_11);
        }
        workgroupBarrier();
    }

    // a workgroup beyond the last share stores nothing
    let row = select(p.rows, first_row + tile_row, first_quad < p.part_quads);
    let quad = first_input_quad + tile_input / 4u;
    let unit = 1.0 / (scale * UNIT_SCALE);
    coopStoreT(high_00 + low_00 * LOW_UNIT, &sums[subgroup * SUMS], SUMS_STRIDE);
    coopStoreT(high_01 + low_01 * LOW_UNIT, &sums[subgroup * SUMS + 4u], SUMS_STRIDE);
    workgroupBarrier();
    store_sums(subgroup, lane % 32u, share, vec2(row, quad), unit);
    workgroupBarrier();
    coopStoreT(high_10 + low_10 * LOW_UNIT, &sums[subgroup * SUMS], SUMS_STRIDE);
    coopStoreT(high_11 + low_11 * LOW_UNIT, &sums[subgroup * SUMS + 4u], SUMS_STRIDE);
    workgroupBarrier();
    store_sums(subgroup, lane % 32u, share, vec2(row + 16u, quad), unit);
}

// Four outputs of four rows of dy, sixteen rows apart, a column for each row.
fn gradients_of_rows(row: u32, quad: u32) -> mat4x4<f32> {
    return mat4x4(
        output_quad(row, quad),
        output_quad(row + 16u, quad),
        output_quad(row + 32u, quad),
        output_quad(row + 48u, quad),
    );
}

// Four outputs of four inputs of W, sixteen inputs apart, a column for each input.
fn weights_of_inputs(input: u32, quad: u32) -> mat4x4<f32> {
    return mat4x4(
        weight_quad(quad, input),
        weight_quad(quad, input + 16u),
        weight_quad(quad, input + 32u),
        weight_quad(quad, input + 48u),
    );
}

// Stores 16 × 32 sums of a subgroup, four quads for each lane.
fn store_sums(subgroup: u32, lane: u32, share: u32, place: vec2<u32>, unit: f32) {
    for (var at = lane; at < SUMS; at += 32u) {
        store(share, place.x + at / 8u, place.y + at % 8u, sums[subgroup * SUMS + at] * unit);
    }
}
