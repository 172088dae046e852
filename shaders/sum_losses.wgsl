// The sums of the rows of losses, in a slot of the metrics. One workgroup.
// uses: shared/reduce_rows.wgsl, shared/grid.wgsl

struct Params {
    rows: u32,
    slots: u32,
    slot_word: u32,  // of the step state: u32, the slot
    adds: u32,       // whether the sums are added to the slot's; else they replace them
}

@group(0) @binding(0) var<storage, read>       losses: array<vec4<f32>>;   // [rows, 4]
@group(0) @binding(1) var<storage, read>       step_state: array<u32>;
@group(0) @binding(2) var<storage, read_write> metrics: array<vec4<f32>>;  // [slots, 4]
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    var sum = vec4(0.0);
    for (var row = zero(workgroup) + lane; row < p.rows; row += 256u) {
        sum += losses[row];
    }
    // four sums of every fourth lane
    let of_lanes = reduce_rows(lane, sum);
    row_sums[lane] = of_lanes;
    workgroupBarrier();
    let slot = step_state[p.slot_word];
    if (lane == 0u && slot < p.slots) {
        var total = (row_sums[0] + row_sums[1]) + (row_sums[2] + row_sums[3]);
        if (p.adds != 0u) {
            total += metrics[slot];
        }
        metrics[slot] = total;
    }
}
