// log_softmax(logits)[target] of each row; 0 if the target is not in the vocabulary. One row per invocation.
// uses: shared/log_sum_exp.wgsl, shared/masked.wgsl, shared/grid.wgsl

struct Params {
    rows: u32,
    vocabulary: u32,
    logits_stride: u32,
    chunks: u32,         // per row
}

@group(0) @binding(0) var<storage, read>       logits: array<f32>;         // [rows, vocabulary]
@group(0) @binding(1) var<storage, read>       targets: array<u32>;        // [rows]
@group(0) @binding(2) var<storage, read>       chunks: array<u32>;         // see vocabulary_chunks.wgsl
@group(0) @binding(3) var<storage, read_write> result: array<vec4<f32>>;   // [rows, 1]
@group(1) @binding(0) var<uniform> p: Params;

const LANES: u32 = 8u;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = flat_workgroup(workgroup, workgroups) * LANES + lane;
    if (row >= p.rows) {
        return;
    }
    var value = 0.0;
    if (targets[row] < p.vocabulary) {
        let origin = log_sum_exp(row, zero(workgroup));
        value = logits[row * p.logits_stride + targets[row]] - origin.x - origin.y;
    }
    result[row] = vec4(value, 0.0, 0.0, 0.0);
}
