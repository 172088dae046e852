// Bans tokens and penalizes repetitions in place on the logits. One edit per invocation, at most one per row and token.
// A penalty acts on a log-probability or on the logit (HF RepetitionPenaltyLogitsProcessor: multiplies a score below
// zero, divides others).
// uses: shared/log_sum_exp.wgsl, shared/masked.wgsl, shared/grid.wgsl
override LOG_PROBABILITIES: bool = false;

struct Params {
    capacity: u32,       // of the list of edits
    rows: u32,
    vocabulary: u32,
    logits_stride: u32,
    chunks: u32,         // per row
}

@group(0) @binding(0) var<storage, read>       edits: array<vec4<u32>>;  // [count, ...], then row, token, kind, penalty
@group(0) @binding(1) var<storage, read>       chunks: array<u32>;       // see vocabulary_chunks.wgsl
@group(0) @binding(2) var<storage, read_write> logits: array<f32>;       // [rows, vocabulary]
@group(1) @binding(0) var<uniform> p: Params;

const LANES: u32 = 32u;
const BAN: u32 = 0u;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_workgroup(workgroup, workgroups) * LANES + lane;
    if (index >= min(edits[0].x, p.capacity)) {
        return;
    }
    let edit = edits[1u + index];
    if (edit.x >= p.rows || edit.y >= p.vocabulary) {
        return;
    }
    let at = edit.x * p.logits_stride + edit.y;
    if (edit.z == BAN) {
        logits[at] = MASKED;
        return;
    }
    var origin = vec2<f32>();
    if (LOG_PROBABILITIES) {
        origin = log_sum_exp(edit.x, zero(workgroup));
    }
    let penalty = bitcast<f32>(edit.w);
    let score = logits[at] - origin.x - origin.y;
    logits[at] = select(score / penalty, score * penalty, score < 0.0) + origin.y + origin.x;
}
