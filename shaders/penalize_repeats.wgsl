// Penalizes the earlier tokens of a row, in place on the logits. One token per invocation, at its first occurrence. The
// penalty acts on a log-probability or on the logit (HF RepetitionPenaltyLogitsProcessor: multiplies a score below
// zero, divides others).
// uses: shared/columns.wgsl, shared/search.wgsl, shared/log_sum_exp.wgsl, shared/masked.wgsl, shared/grid.wgsl
override LOG_PROBABILITIES: bool = false;

struct Params {
    rows: u32,
    vocabulary: u32,
    logits_stride: u32,
    chunks: u32,         // per row
    beams: u32,          // rows per sentence
    block: u32,          // words per sentence in `search`
    capacity: u32,       // slots per row
}

@group(0) @binding(0) var<storage, read>       search: array<u32>;       // see shared/search.wgsl
@group(0) @binding(1) var<storage, read>       slots: array<u32>;        // [rows, capacity]
@group(0) @binding(2) var<storage, read>       slot_tokens: array<u32>;  // [rows * capacity]
@group(0) @binding(3) var<storage, read>       chunks: array<u32>;       // see vocabulary_chunks.wgsl
@group(0) @binding(4) var<storage, read>       columns: array<u32>;      // see shared/columns.wgsl
@group(0) @binding(5) var<storage, read_write> logits: array<f32>;       // [rows, vocabulary]
@group(1) @binding(0) var<uniform> p: Params;

const LANES: u32 = 32u;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_workgroup(workgroup, workgroups) * LANES + lane;
    let row = index / p.capacity;
    let position = index % p.capacity;
    if (row >= p.rows) {
        return;
    }
    let block = row / p.beams * p.block;
    let penalty = bitcast<f32>(search[block + PENALTY]);
    let length = search[block + HISTORY] + search[block + GENERATED] + 1u;
    if (search[block + DONE] != 0u || penalty == 1.0 || position >= length) {
        return;
    }
    let start = row * p.capacity;
    let token = slot_tokens[slots[start + position]];
    for (var earlier = zero(workgroup); earlier < position; earlier++) {
        if (slot_tokens[slots[start + earlier]] == token) {
            return;
        }
    }
    let column = column_of(row / p.beams, token, zero(workgroup));
    if (column >= p.vocabulary) {
        return;
    }
    var origin = vec2<f32>();
    if (LOG_PROBABILITIES) {
        origin = log_sum_exp(row, zero(workgroup));
    }
    let at = row * p.logits_stride + column;
    let score = logits[at] - origin.x - origin.y;
    logits[at] = select(score / penalty, score * penalty, score < 0.0) + origin.y + origin.x;
}
