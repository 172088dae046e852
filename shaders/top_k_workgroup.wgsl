// The K best tokens of each row and their log-probabilities (the row's log Σ exp is subtracted). One row per workgroup,
// for GPUs. The best of all panels of 64 tokens is the row's best; its panel then offers its next best.
// uses: shared/row_by_workgroup.wgsl, shared/reduce.wgsl, shared/bans.wgsl, shared/search.wgsl, shared/candidate.wgsl,
// shared/masked.wgsl, shared/grid.wgsl
override NORMALIZE: bool = true;

struct Params {
    rows: u32,
    vocabulary: u32,
    logits_stride: u32,
    chunks: u32,         // per row: panels
    candidates: u32,     // K
    ban_words: u32,      // words per list
    beams: u32,          // rows per sentence
    block: u32,          // words per sentence in `search`
}

@group(0) @binding(0) var<storage, read>       logits: array<f32>;  // [rows, vocabulary]
@group(0) @binding(1) var<storage, read>       bans: array<u32>;    // see shared/bans.wgsl
@group(0) @binding(2) var<storage, read>       search: array<u32>;  // see shared/search.wgsl
@group(0) @binding(3) var<storage, read_write> chunks: array<u32>;  // see vocabulary_chunks.wgsl
@group(0) @binding(4) var<storage, read_write> top: array<u32>;     // [rows, 2, K]: values and tokens
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = row_of(flat_workgroup(workgroup, workgroups), lane);
    if (row >= p.rows) {
        return;
    }
    var origin = vec2<f32>();
    if (NORMALIZE) {
        origin = log_sum_exp_of_row(row, lane, zero(workgroup));
    }
    let bans_of_row = ban_list(row);
    let out = row * 2u * p.candidates;
    for (var i = zero(workgroup); i < p.candidates; i++) {
        let best = best_of_row(row, lane, zero(workgroup));
        if (writes(lane)) {
            // if no token is left, a maximum that is MASKED itself must not cancel; a NaN sum stays visible
            let is_none = best.value == MASKED;
            top[out + i] = bitcast<u32>(select(best.value - origin.x, MASKED, is_none) - origin.y);
            top[out + p.candidates + i] = select(best.token, NO_TOKEN, is_none);
        }
        if (i + 1u == p.candidates) {
            break;
        }
        let panel = best.token / LANES;
        let token = panel * LANES + lane;
        var next = NONE;
        if (token < p.vocabulary) {
            let candidate = Candidate(logits[row * p.logits_stride + token], token);
            if (is_before(best, candidate) && is_before(candidate, NONE) && !is_banned(bans_of_row, token)) {
                next = candidate;
            }
        }
        next = best_of_lanes(lane, next);
        // by the lane of this panel
        if (lane == panel % LANES) {
            let at = 4u * (row * p.chunks + panel);
            chunks[at] = bitcast<u32>(next.value);
            chunks[at + 1u] = next.token;
        }
    }
}
