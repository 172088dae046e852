// A linear layer on matrix units: a tile of TILE rows and TILE outputs per workgroup, 32 inputs at a time. Each subgroup has 32
// rows and 32 outputs. While a tile is multiplied, the next one is read.
// uses: shared/unit_layer.wgsl, shared/matrix_units.wgsl, shared/linear.wgsl, shared/plain_inputs.wgsl, shared/weights_*.wgsl, shared/grid.wgsl
enable f16;
enable wgpu_cooperative_matrix;

override TILE: u32 = 64u;                    // 64 or 128
override LANES: u32 = TILE * TILE / 32u;     // 128 or 512
override ROWS_APART: u32 = LANES / 8u;       // of a lane's rows of x
override TILE_QUADS: u32 = TILE / 4u;        // of a row of y

// Quads of a row in workgroup memory, and two more so that neighbouring rows start in different banks. Matrices are read from
// multiples of 16 bytes, so every array has an even number of quads: the next one begins where it ends.
const X_STRIDE: u32 = 10u;
override W_STRIDE: u32 = TILE_QUADS + 2u;

var<workgroup> x_high: array<vec4<f16>, TILE * X_STRIDE>;  // [TILE rows, 32 inputs]
var<workgroup> x_low: array<vec4<f16>, TILE * X_STRIDE>;   // [TILE rows, 32 inputs]
var<workgroup> w_tile: array<vec4<f16>, 32u * W_STRIDE>;   // [32 inputs, TILE outputs]
var<workgroup> w_low: array<vec4<f16>, 32u * W_STRIDE * LOW_WEIGHTS + 2u>;  // the same, of weights in f32

const SUMS_STRIDE: u32 = 4u;
var<workgroup> sums: array<vec4<f32>, LANES / 32u * SUMS>;  // of all subgroups

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row_blocks = (p.rows + TILE - 1u) / TILE;
    let group = flat_workgroup(workgroup, workgroups);
    let first_row = group % row_blocks * TILE;
    let first_quad = group / row_blocks * TILE_QUADS;

    // this lane's part of the tiles: a quad of inputs of four or two rows of x, and of four outputs of W
    let x_column = lane % 8u;
    let x_row = lane / 8u;
    let starts = row_starts(first_row + x_row, ROWS_APART);
    let x_at = x_row * X_STRIDE + x_column;
    let w_column = lane % TILE_QUADS;
    let w_row = lane / TILE_QUADS;
    let block = first_block(min(first_quad + w_column, p.part_quads - 1u), p.input_quads);
    let w_at = 4u * w_row * W_STRIDE + w_column;

    let subgroup = lane / 32u;
    let tile_row = subgroup / (TILE / 32u) * 32u;
    let tile_quad = subgroup % (TILE / 32u) * 8u;
    var high_00: coop_mat16x16<f32, C>;
    var high_01: coop_mat16x16<f32, C>;
    var high_10: coop_mat16x16<f32, C>;
    var high_11: coop_mat16x16<f32, C>;
    var low_00: coop_mat16x16<f32, C>;
    var low_01: coop_mat16x16<f32, C>;
    var low_10: coop_mat16x16<f32, C>;
    var low_11: coop_mat16x16<f32, C>;

    var next_x = scaled_inputs(starts, x_column);
    var next_w = weights_inside(block, w_row);
    let nothing = zero(workgroup);
    for (var k = nothing; k < p.input_quads; k += 8u) {
        let high_0 = high_of(next_x[0], nothing);
        let high_1 = high_of(next_x[1], nothing);
        x_high[x_at] = vec4<f16>(high_0);
        x_high[x_at + ROWS_APART * X_STRIDE] = vec4<f16>(high_1);
        x_low[x_at] = low_of(next_x[0], high_0);
        x_low[x_at + ROWS_APART * X_STRIDE] = low_of(next_x[1], high_1);
        if (2u * ROWS_APART < TILE) {
            let high_2 = high_of(next_x[2], nothing);
            let high_3 = high_of(next_x[3], nothing);
            x_high[x_at + 2u * ROWS_APART * X_STRIDE] = vec4<f16>(high_2);
            x_high[x_at + 3u * ROWS_APART * X_STRIDE] = vec4<f16>(high_3);
            x_low[x_at + 2u * ROWS_APART * X_STRIDE] = low_of(next_x[2], high_2);
            x_low[x_at + 3u * ROWS_APART * X_STRIDE] = low_of(next_x[3], high_3);
        }
        if (w_row < 8u) {
            stage_weights(w_at, next_w[0], nothing);
            stage_weights(w_at + W_STRIDE, next_w[1], nothing);
            stage_weights(w_at + 2u * W_STRIDE, next_w[2], nothing);
            stage_weights(w_at + 3u * W_STRIDE, next_w[3], nothing);
        }
        workgroupBarrier();
        next_x = scaled_inputs(starts, k + 8u + x_column);
        next_w = weights_inside(block, k + 8u + w_row);
        for (var i = 0u; i < 8u; i += 4u) {
            let w_0 = coopLoadT<coop_mat16x16<f16, B>>(&w_tile[4u * i * W_STRIDE + tile_quad], W_STRIDE);
            let w_1 = coopLoadT<coop_mat16x16<f16, B>>(&w_tile[4u * i * W_STRIDE + tile_quad + 4u], W_STRIDE);
            let x_high_0 = coopLoadT<coop_mat16x16<f16, A>>(&x_high[tile_row * X_STRIDE + i], X_STRIDE);
            let x_high_1 = coopLoadT<coop_mat16x16<f16, A>>(&x_high[(tile_row + 16u) * X_STRIDE + i], X_STRIDE);
            let x_low_0 = coopLoadT<coop_mat16x16<f16, A>>(&x_low[tile_row * X_STRIDE + i], X_STRIDE);
            let x_low_1 = coopLoadT<coop_mat16x16<f16, A>>(&x_low[(tile_row + 16u) * X_STRIDE + i], X_STRIDE);
            high_00 = coopMultiplyAdd(x_high_0, w_0, high_00);
            high_01 = coopMultiplyAdd(x_high_0, w_1, high_01);
            low_00 = coopMultiplyAdd(x_low_0, w_0, low_00);
            low_01 = coopMultiplyAdd(x_low_0, w_1, low_01);
            high_10 = coopMultiplyAdd(x_high_1, w_0, high_10);
            high_11 = coopMultiplyAdd(x_high_1, w_1, high_11);
            low_10 = coopMultiplyAdd(x_low_1, w_0, low_10);
            low_11 = coopMultiplyAdd(x_low_1, w_1, low_11);
            if (LOW_WEIGHTS == 1u) {
                let w_low_0 = coopLoadT<coop_mat16x16<f16, B>>(&w_low[4u * i * W_STRIDE + tile_quad], W_STRIDE);
                let w_low_1 = coopLoadT<coop_mat16x16<f16, B>>(&w_low[4u * i * W_STRIDE + tile_quad + 4u], W_STRIDE);
                low_00 = coopMultiplyAdd(x_high_0, w_low_0, low_00);
                low_01 = coopMultiplyAdd(x_high_0, w_low_1, low_01);
                low_10 = coopMultiplyAdd(x_high_1, w_low_0, low_10);
                low_11 = coopMultiplyAdd(x_high_1, w_low_1, low_11);
            }
        }
        workgroupBarrier();
    }

    let row = first_row + tile_row;
    let quad = first_quad + tile_quad;
    coopStoreT(high_00 + low_00 * LOW_UNIT, &sums[subgroup * SUMS], SUMS_STRIDE);
    workgroupBarrier();
    store_sums(subgroup, 1u, row, quad, lane % 32u, 32u);
    workgroupBarrier();
    coopStoreT(high_01 + low_01 * LOW_UNIT, &sums[subgroup * SUMS], SUMS_STRIDE);
    workgroupBarrier();
    store_sums(subgroup, 1u, row, quad + 4u, lane % 32u, 32u);
    workgroupBarrier();
    coopStoreT(high_10 + low_10 * LOW_UNIT, &sums[subgroup * SUMS], SUMS_STRIDE);
    workgroupBarrier();
    store_sums(subgroup, 1u, row + 16u, quad, lane % 32u, 32u);
    workgroupBarrier();
    coopStoreT(high_11 + low_11 * LOW_UNIT, &sums[subgroup * SUMS], SUMS_STRIDE);
    workgroupBarrier();
    store_sums(subgroup, 1u, row + 16u, quad + 4u, lane % 32u, 32u);
}

// Four outputs of an input.
fn stage_weights(at: u32, numbers: vec4<f32>, nothing: u32) {
    if (LOW_WEIGHTS == 0u) {
        w_tile[at] = vec4<f16>(numbers);
        return;
    }
    let scaled = numbers * UNIT_SCALE;
    let high = high_of(scaled, nothing);
    w_tile[at] = vec4<f16>(high);
    w_low[at] = low_of(scaled, high);
}
