// The best allowed token of each chunk of a row of logits, and the sum of exponentials relative to its maximum. One
// chunk per invocation.
// uses: shared/vocabulary_notes.wgsl, shared/bans.wgsl, shared/search.wgsl, shared/candidate.wgsl, shared/masked.wgsl, shared/grid.wgsl
override SUM_BANNED: bool = true;   // whether banned tokens count in maximum and sum

@group(0) @binding(0) var<storage, read>       logits: array<f32>;  // [rows, vocabulary]

const LANES: u32 = 32u;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_workgroup(workgroup, workgroups) * LANES + lane;
    let row = index / p.chunks;
    let chunk = index % p.chunks;
    if (row >= p.rows) {
        return;
    }
    let start = row * p.logits_stride;
    let first = chunk * p.chunk_step;
    let end = min(first + p.reach, p.vocabulary);
    let list = ban_list(row);
    var best = NONE;
    var maximum = MASKED;
    for (var token = first; token < end; token += p.token_step) {
        let candidate = Candidate(logits[start + token], token);
        let banned = is_banned(list, token);
        if (!banned && is_before(candidate, best)) {
            best = candidate;
        }
        if (SUM_BANNED && banned) {
            maximum = max(maximum, candidate.value);
        }
    }
    chunks[4u * index] = bitcast<u32>(best.value);
    chunks[4u * index + 1u] = best.token;
    if (KEEPS_SUMS) {
        return;
    }
    maximum = max(maximum, best.value);
    var sum = 0.0;
    for (var token = first; token < end; token += p.token_step) {
        if (SUM_BANNED || !is_banned(list, token)) {
            sum += exp(logits[start + token] - maximum);
        }
    }
    chunks[4u * index + 2u] = bitcast<u32>(maximum);
    chunks[4u * index + 3u] = bitcast<u32>(sum);
}
