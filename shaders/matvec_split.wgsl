// A linear layer: one row and one panel of 64 outputs per workgroup, for GPUs. Sixteen neighbouring lanes have four
// outputs each, and so read neighbouring weights. Sixteen such groups share the inputs (split K): alone, a lane would
// wait for each weight in turn.
// uses: shared/linear.wgsl, shared/plain_inputs.wgsl or shared/normalized_inputs.wgsl or shared/output_layer.wgsl, shared/weights_*.wgsl, shared/multiply_add.wgsl, shared/grid.wgsl
const SLICES: u32 = 16u;  // of the inputs
const ROWS: u32 = 1u;

var<workgroup> sums: array<vec4<f32>, 256>;  // [slices, 16 quads of outputs]

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let panels = (p.part_quads + PANEL_QUADS - 1u) / PANEL_QUADS;
    let group = flat_workgroup(workgroup, workgroups);
    let row = group / panels;
    let panel = group % panels;
    let quad = panel * PANEL_QUADS + lane % PANEL_QUADS;
    let slice = lane / PANEL_QUADS;
    let x_row = min(row, p.rows - 1u) * p.input_quads;
    let statistics = statistics_of(vec4(x_row), lane);
    let mean = statistics[0].x;
    let factor = statistics[1].x;
    if (panel == 0u) {
        keep(row, x_row, lane, mean, factor);
    }
    var block = first_block(min(quad, p.part_quads - 1u), p.input_quads) + slice * BLOCK_STEP;
    var sum = vec4(0.0);
    for (var k = zero(workgroup) + slice; k < p.input_quads; k += SLICES) {
        sum = multiply_add(input(x_row, k, mean, factor), weights(block), sum);
        block += SLICES * BLOCK_STEP;
    }
    sums[lane] = sum;
    workgroupBarrier();
    if (slice == 0u) {
        for (var i = 1u; i < SLICES; i++) {
            sum += sums[i * PANEL_QUADS + lane];
        }
        note_quad(lane, row, quad, store(row, quad, sum));
    }
    note_panel(0u, row, panel, lane == 0u);
}
