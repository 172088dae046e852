// As matvec_split.wgsl, for sixteen rows that share the weights read.
// uses: shared/split_sums.wgsl, shared/linear.wgsl, shared/plain_inputs.wgsl, shared/four_rows.wgsl, shared/weights_*.wgsl, shared/multiply_add.wgsl, shared/grid.wgsl
const ROWS: u32 = 4u;  // whose sums are added up at a time

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row_blocks = (p.rows + 15u) / 16u;
    let group = flat_workgroup(workgroup, workgroups);
    let row = group % row_blocks * 16u;
    let first_quad = group / row_blocks * QUADS;
    let starts0 = four_rows(row);
    let starts1 = four_rows(row + 4u);
    let starts2 = four_rows(row + 8u);
    let starts3 = four_rows(row + 12u);
    var block = first_block(min(first_quad + lane % QUADS, p.part_quads - 1u), p.input_quads)
        + lane / QUADS * BLOCK_STEP;
    var sums0 = mat4x4<f32>();
    var sums1 = mat4x4<f32>();
    var sums2 = mat4x4<f32>();
    var sums3 = mat4x4<f32>();
    for (var k = zero(workgroup) + lane / QUADS; k < p.input_quads; k += SLICES) {
        let w = weights(block);
        block += SLICES * BLOCK_STEP;
        sums0 = multiply_add_rows(inputs_of_rows(starts0, k), w, sums0);
        sums1 = multiply_add_rows(inputs_of_rows(starts1, k), w, sums1);
        sums2 = multiply_add_rows(inputs_of_rows(starts2, k), w, sums2);
        sums3 = multiply_add_rows(inputs_of_rows(starts3, k), w, sums3);
    }
    add_up(row, first_quad, lane, sums0);
    add_up(row + 4u, first_quad, lane, sums1);
    add_up(row + 8u, first_quad, lane, sums2);
    add_up(row + 12u, first_quad, lane, sums3);
}

// Adds up the slices of four rows, one per group of 64 lanes, and stores the results. All lanes must call it.
fn add_up(row: u32, first_quad: u32, lane: u32, of_lane: mat4x4<f32>) {
    sums[lane] = of_lane[0];
    sums[lane + 256u] = of_lane[1];
    sums[lane + 512u] = of_lane[2];
    sums[lane + 768u] = of_lane[3];
    workgroupBarrier();
    let own = lane / 64u;
    let total = total_of_slices(lane, own * 256u);
    if (lane % 64u < QUADS) {
        store(row + own, first_quad + lane % 64u, total);
    }
    workgroupBarrier();  // before `sums` is written again
}
