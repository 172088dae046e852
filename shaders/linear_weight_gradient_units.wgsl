// The gradient of a linear layer's weights, as linear_weight_gradient.wgsl, on matrix units: a tile of 64 inputs and 64 outputs (one
// panel) per workgroup, 32 rows at a time. While a tile is multiplied, the next one is read.
// uses: shared/unit_gradient.wgsl, shared/matrix_units.wgsl, shared/weight_gradient.wgsl, shared/grid.wgsl
enable f16;
enable wgpu_cooperative_matrix;

@group(0) @binding(3) var<storage, read> largest: array<f32>;  // of shares of dy, see largest.wgsl

const SCALE: f32 = 0.00390625;  // of inputs, as in shared/unit_layer.wgsl

// Operands are [32 rows, 64 inputs or outputs]. Quads of a row, and two more so that neighbouring rows start in different banks.
const STRIDE: u32 = 18u;
const OPERAND_QUADS: u32 = 32u * STRIDE;

@compute @workgroup_size(128)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let input_blocks = (p.input_quads + 15u) / 16u;
    let panels = (p.part_outputs + 63u) / 64u;
    let group = flat_workgroup(workgroup, workgroups);
    let panel = group / input_blocks % panels;
    let share = group / (input_blocks * panels);
    let first_row = share * p.share_rows;
    let first_input_quad = group % input_blocks * 16u;
    let scale = scale_of_gradient(lane);

    // this lane's part of the tiles: a quad of four rows of x and of dy
    let column = lane % 16u;
    let part = lane / 16u;
    let at = part * STRIDE + column;

    let subgroup = lane / 32u;
    let tile_input = subgroup / 2u * 8u;
    let tile_output = subgroup % 2u * 8u;
    var high_00: coop_mat16x16<f32, C>;
    var high_01: coop_mat16x16<f32, C>;
    var high_10: coop_mat16x16<f32, C>;
    var high_11: coop_mat16x16<f32, C>;
    var low_00: coop_mat16x16<f32, C>;
    var low_01: coop_mat16x16<f32, C>;
    var low_10: coop_mat16x16<f32, C>;
    var low_11: coop_mat16x16<f32, C>;

    var next_x = inputs_of_rows(first_row + part, first_input_quad + column);
    var next_dy = gradients_of_rows(first_row + part, 16u * panel + column);
    let nothing = zero(workgroup);
    let end = min(first_row + p.share_rows, p.rows);
    for (var k = nothing + first_row; k < end; k += 32u) {
        for (var i = 0u; i < 4u; i++) {
            stage_a(at + 8u * i * STRIDE, next_x[i] * SCALE, nothing);
            stage_b(at + 8u * i * STRIDE, next_dy[i] * scale, nothing);
        }
        workgroupBarrier();
        next_x = inputs_of_rows(k + 32u + part, first_input_quad + column);
        next_dy = gradients_of_rows(k + 32u + part, 16u * panel + column);
        for (var i = 0u; i < 32u; i += 16u) {
            // a column for each row of x
            let a_high_0 = coopLoad<coop_mat16x16<f16, A>>(&a_high[i * STRIDE + tile_input], STRIDE);
            let a_high_1 = coopLoad<coop_mat16x16<f16, A>>(&a_high[i * STRIDE + tile_input + 4u], STRIDE);
            let a_low_0 = coopLoad<coop_mat16x16<f16, A>>(&a_low[i * STRIDE + tile_input], STRIDE);
            let a_low_1 = coopLoad<coop_mat16x16<f16, A>>(&a_low[i * STRIDE + tile_input + 4u], STRIDE);
            let b_high_0 = coopLoadT<coop_mat16x16<f16, B>>(&b_high[i * STRIDE + tile_output], STRIDE);
            let b_high_1 = coopLoadT<coop_mat16x16<f16, B>>(&b_high[i * STRIDE + tile_output + 4u], STRIDE);
            let b_low_0 = coopLoadT<coop_mat16x16<f16, B>>(&b_low[i * STRIDE + tile_output], STRIDE);
            let b_low_1 = coopLoadT<coop_mat16x16<f16, B>>(&b_low[i * STRIDE + tile_output + 4u], STRIDE);
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
    let input_quad = select(p.input_quads, first_input_quad + tile_input, share < p.shares);
    let unit = 1.0 / (scale * SCALE);
    coopStoreT(high_00 + low_00 * LOW_UNIT, &sums[subgroup * SUMS], SUMS_STRIDE);
    coopStoreT(high_01 + low_01 * LOW_UNIT, &sums[subgroup * SUMS + 4u], SUMS_STRIDE);
    workgroupBarrier();
    add_sums(subgroup, lane % 32u, vec2(share, panel), vec2(input_quad, tile_output), unit);
    workgroupBarrier();
    coopStoreT(high_10 + low_10 * LOW_UNIT, &sums[subgroup * SUMS], SUMS_STRIDE);
    coopStoreT(high_11 + low_11 * LOW_UNIT, &sums[subgroup * SUMS + 4u], SUMS_STRIDE);
    workgroupBarrier();
    add_sums(subgroup, lane % 32u, vec2(share, panel), vec2(input_quad + 4u, tile_output), unit);
}

// Four inputs of four rows of x, eight rows apart, a column for each row.
fn inputs_of_rows(row: u32, quad: u32) -> mat4x4<f32> {
    return mat4x4(
        input_quad(row, quad),
        input_quad(row + 8u, quad),
        input_quad(row + 16u, quad),
        input_quad(row + 24u, quad),
    );
}

// Four outputs of four rows of dy, eight rows apart, a column for each row.
fn gradients_of_rows(row: u32, quad: u32) -> mat4x4<f32> {
    return mat4x4(
        output_quad(row, quad),
        output_quad(row + 8u, quad),
        output_quad(row + 16u, quad),
        output_quad(row + 24u, quad),
    );
}

// Adds the sums of a subgroup, of sixteen inputs and 32 outputs, four quads for each lane.
fn add_sums(subgroup: u32, lane: u32, at_panel: vec2<u32>, quads: vec2<u32>, unit: f32) {
    for (var at = lane; at < SUMS; at += 32u) {
        let sum = sums[subgroup * SUMS + at];
        add(at_panel.x, at_panel.y, quads.y + at % 8u, quads.x + at / 32u, at / 8u % 4u, sum * unit);
    }
}
