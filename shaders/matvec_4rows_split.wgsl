// As matvec_split.wgsl, for four rows (the beams of a sentence) that share the weights read.
// uses: shared/linear.wgsl, shared/plain_inputs.wgsl or shared/normalized_inputs.wgsl or shared/output_layer.wgsl, shared/weights_*.wgsl, shared/multiply_add.wgsl, shared/grid.wgsl
const SLICES: u32 = 16u;  // of the inputs
const ROWS: u32 = 4u;

var<workgroup> sums: array<vec4<f32>, 1024>;  // [4 rows, slices, 16 quads of outputs]

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let panels = (p.part_quads + PANEL_QUADS - 1u) / PANEL_QUADS;
    let group = flat_workgroup(workgroup, workgroups);
    let row = group / panels * 4u;
    let panel = group % panels;
    let quad = panel * PANEL_QUADS + lane % PANEL_QUADS;
    let slice = lane / PANEL_QUADS;
    let x0 = min(row, p.rows - 1u) * p.input_quads;
    let x1 = min(row + 1u, p.rows - 1u) * p.input_quads;
    let x2 = min(row + 2u, p.rows - 1u) * p.input_quads;
    let x3 = min(row + 3u, p.rows - 1u) * p.input_quads;
    let statistics = statistics_of(vec4(x0, x1, x2, x3), lane);
    let means = statistics[0];
    let factors = statistics[1];
    if (panel == 0u) {
        keep(row, x0, lane, means.x, factors.x);
        keep(row + 1u, x1, lane, means.y, factors.y);
        keep(row + 2u, x2, lane, means.z, factors.z);
        keep(row + 3u, x3, lane, means.w, factors.w);
    }
    var block = first_block(min(quad, p.part_quads - 1u), p.input_quads) + slice * BLOCK_STEP;
    var sum0 = vec4(0.0);
    var sum1 = vec4(0.0);
    var sum2 = vec4(0.0);
    var sum3 = vec4(0.0);
    for (var k = zero(workgroup) + slice; k < p.input_quads; k += SLICES) {
        let w = weights(block);
        block += SLICES * BLOCK_STEP;
        sum0 = multiply_add(input(x0, k, means.x, factors.x), w, sum0);
        sum1 = multiply_add(input(x1, k, means.y, factors.y), w, sum1);
        sum2 = multiply_add(input(x2, k, means.z, factors.z), w, sum2);
        sum3 = multiply_add(input(x3, k, means.w, factors.w), w, sum3);
    }
    sums[lane] = sum0;
    sums[lane + 256u] = sum1;
    sums[lane + 512u] = sum2;
    sums[lane + 768u] = sum3;
    workgroupBarrier();
    // one row per group of lanes
    if (slice < 4u) {
        let first = slice * 256u + lane % PANEL_QUADS;
        var sum = sums[first];
        for (var i = 1u; i < SLICES; i++) {
            sum += sums[first + i * PANEL_QUADS];
        }
        note_quad(first, row + slice, quad, store(row + slice, quad, sum));
    }
    note_panel(slice * 256u, row + slice, panel, slice < 4u && lane % PANEL_QUADS == 0u);
}
