// As matvec_split.wgsl, for four rows (the beams of a sentence) that share the weights read.
// uses: shared/split_sums.wgsl, shared/linear.wgsl, shared/plain_inputs.wgsl or shared/normalized_inputs.wgsl or shared/output_layer.wgsl, shared/weights_*.wgsl, shared/multiply_add.wgsl, shared/grid.wgsl
const ROWS: u32 = 4u;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let parts = (p.part_quads + QUADS - 1u) / QUADS;
    let group = flat_workgroup(workgroup, workgroups);
    let row = group / parts * 4u;
    let part = group % parts;
    let quad = part * QUADS + lane % QUADS;
    let slice = lane / QUADS;
    let x0 = min(row, p.rows - 1u) * p.input_quads;
    let x1 = min(row + 1u, p.rows - 1u) * p.input_quads;
    let x2 = min(row + 2u, p.rows - 1u) * p.input_quads;
    let x3 = min(row + 3u, p.rows - 1u) * p.input_quads;
    let statistics = statistics_of(vec4(x0, x1, x2, x3), lane);
    let means = statistics[0];
    let factors = statistics[1];
    if (part == 0u) {
        keep(row, x0, lane, means.x, factors.x);
        keep(row + 1u, x1, lane, means.y, factors.y);
        keep(row + 2u, x2, lane, means.z, factors.z);
        keep(row + 3u, x3, lane, means.w, factors.w);
    }
    let first = first_block(min(quad, p.part_quads - 1u), p.input_quads);
    let last = p.input_quads - 1u;
    var sum0 = vec4(0.0);
    var sum1 = vec4(0.0);
    var sum2 = vec4(0.0);
    var sum3 = vec4(0.0);
    for (var k = zero(workgroup) + slice; k < p.input_quads; k += 2u * SLICES) {
        let next = k + SLICES;
        let at = min(next, last);
        let w0 = weights(first + k * BLOCK_STEP);
        let w1 = weights(first + at * BLOCK_STEP);
        sum0 = multiply_add(input(x0, k, means.x, factors.x), w0, sum0);
        sum1 = multiply_add(input(x1, k, means.y, factors.y), w0, sum1);
        sum2 = multiply_add(input(x2, k, means.z, factors.z), w0, sum2);
        sum3 = multiply_add(input(x3, k, means.w, factors.w), w0, sum3);
        sum0 = multiply_add(inside(input(x0, at, means.x, factors.x), next), w1, sum0);
        sum1 = multiply_add(inside(input(x1, at, means.y, factors.y), next), w1, sum1);
        sum2 = multiply_add(inside(input(x2, at, means.z, factors.z), next), w1, sum2);
        sum3 = multiply_add(inside(input(x3, at, means.w, factors.w), next), w1, sum3);
    }
    sums[lane] = sum0;
    sums[lane + 256u] = sum1;
    sums[lane + 512u] = sum2;
    sums[lane + 768u] = sum3;
    workgroupBarrier();
    // one row per group of 64 lanes
    let own = lane / 64u;
    let total = total_of_slices(lane, own * 256u);
    if (lane % 64u < QUADS) {
        let at = own * 256u + lane % 64u;
        let own_quad = part * QUADS + lane % 64u;
        note_quad(at, row + own, own_quad, store(row + own, own_quad, total));
    }
    note_panel(own * 256u, row + own, part, lane % 64u == 0u);
}
