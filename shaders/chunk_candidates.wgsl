// The K best tokens of each of the K best chunks of a row. They include the row's K best tokens: a token of any other
// chunk has K better ones, the best of these chunks. One chunk per invocation: rank r finds the chunk that comes r-th,
// and selects its best tokens.
// uses: shared/bans.wgsl, shared/search.wgsl, shared/candidate.wgsl, shared/masked.wgsl, shared/grid.wgsl

struct Params {
    rows: u32,
    vocabulary: u32,
    logits_stride: u32,
    chunks: u32,         // per row: chunk c holds the tokens c, c + chunks, c + 2 * chunks, ...
    candidates: u32,     // K
    lists: u32,          // first word of the lists in `chunks`
    ban_words: u32,      // words per list
    beams: u32,          // rows per sentence
    block: u32,          // words per sentence in `search`
}

@group(0) @binding(0) var<storage, read>       logits: array<f32>;  // [rows, vocabulary]
@group(0) @binding(1) var<storage, read>       bans: array<u32>;    // see shared/bans.wgsl
@group(0) @binding(2) var<storage, read>       search: array<u32>;  // see shared/search.wgsl
@group(0) @binding(3) var<storage, read_write> chunks: array<u32>;  // see vocabulary_chunks.wgsl; then the lists
@group(1) @binding(0) var<uniform> p: Params;                       // [rows, K ranks, 2, K]: values and tokens

const LANES: u32 = 8u;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_workgroup(workgroup, workgroups) * LANES + lane;
    let row = index / p.candidates;
    let rank = index % p.candidates;
    if (row >= p.rows) {
        return;
    }

    var last = FIRST;
    for (var i = 0u; i <= rank; i++) {
        var best = NONE;
        for (var chunk = zero(workgroup); chunk < p.chunks; chunk++) {
            let at = 4u * (row * p.chunks + chunk);
            let candidate = Candidate(bitcast<f32>(chunks[at]), chunks[at + 1u]);
            if (is_before(last, candidate) && is_before(candidate, best)) {
                best = candidate;
            }
        }
        last = best;
    }

    // a rank beyond the number of chunks has an empty list
    let first_token = select(last.token % p.chunks, p.vocabulary, last.value == MASKED);
    let list = p.lists + 2u * p.candidates * index;
    let bans_of_row = ban_list(row);
    last = FIRST;
    for (var i = zero(workgroup); i < p.candidates; i++) {
        var best = NONE;
        for (var token = first_token; token < p.vocabulary; token += p.chunks) {
            let candidate = Candidate(logits[row * p.logits_stride + token], token);
            if (is_before(last, candidate) && is_before(candidate, best) && !is_banned(bans_of_row, token)) {
                best = candidate;
            }
        }
        chunks[list + i] = bitcast<u32>(best.value);
        chunks[list + p.candidates + i] = best.token;
        last = best;
    }
}
