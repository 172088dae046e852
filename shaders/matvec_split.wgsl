// A linear layer: one row and a part of a panel of 64 outputs per workgroup, for GPUs. QUADS neighbouring lanes have
// four outputs each, and so read neighbouring weights. The groups of such lanes share the inputs (split K), and each
// lane has four reads under way: alone, a lane would wait for each weight in turn.
// uses: shared/split_sums.wgsl, shared/linear.wgsl, shared/plain_inputs.wgsl or shared/normalized_inputs.wgsl or shared/output_layer.wgsl, shared/weights_*.wgsl, shared/multiply_add.wgsl, shared/grid.wgsl
const ROWS: u32 = 1u;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let parts = (p.part_quads + QUADS - 1u) / QUADS;
    let group = flat_workgroup(workgroup, workgroups);
    let row = group / parts;
    let part = group % parts;
    let quad = part * QUADS + lane % QUADS;
    let slice = lane / QUADS;
    let x_row = min(row, p.rows - 1u) * p.input_quads;
    let statistics = statistics_of(vec4(x_row), lane);
    let mean = statistics[0].x;
    let factor = statistics[1].x;
    if (part == 0u) {
        keep(row, x_row, lane, mean, factor);
    }
    let first = first_block(min(quad, p.part_quads - 1u), p.input_quads);
    let last = p.input_quads - 1u;
    var sum = vec4(0.0);
    for (var k = zero(workgroup) + slice; k < p.input_quads; k += 4u * SLICES) {
        let at = min(vec4(k) + vec4(0u, SLICES, 2u * SLICES, 3u * SLICES), vec4(last));
        let w0 = weights(first + at.x * BLOCK_STEP);
        let w1 = weights(first + at.y * BLOCK_STEP);
        let w2 = weights(first + at.z * BLOCK_STEP);
        let w3 = weights(first + at.w * BLOCK_STEP);
        let x0 = input(x_row, at.x, mean, factor);
        let x1 = input(x_row, at.y, mean, factor);
        let x2 = input(x_row, at.z, mean, factor);
        let x3 = input(x_row, at.w, mean, factor);
        sum = multiply_add(x0, w0, sum);
        sum = multiply_add(inside(x1, k + SLICES), w1, sum);
        sum = multiply_add(inside(x2, k + 2u * SLICES), w2, sum);
        sum = multiply_add(inside(x3, k + 3u * SLICES), w3, sum);
    }
    sums[lane] = sum;
    workgroupBarrier();
    let total = total_of_slices(lane, 0u);
    if (lane < QUADS) {
        note_quad(lane, row, quad, store(row, quad, total));
    }
    note_panel(0u, row, part, lane == 0u);
}
