// One step of beam search: ranks the candidates of all beams, keeps those that end as hypotheses, continues the others,
// and decides whether the search is over. HF GenerationMixin._beam_search; equal to decode/beam.rs to the last bit. One
// sentence per invocation.
// uses: shared/search.wgsl, shared/continue_row.wgsl, shared/divide.wgsl, shared/masked.wgsl, shared/grid.wgsl
override BEAMS: u32 = 4u;

struct Params {
    rows: u32,
    candidates: u32,      // per row
    block: u32,           // words per sentence in `search`
    ends: u32,            // capacity for end tokens; scores, parents, finished scores, divisors follow
    capacity: u32,        // slots per row
    ring: u32,            // capacity of the record, steps
    first_position: u32,  // row of the position table
    pad: u32,             // token whose position is its id; NO_TOKEN for none
}

@group(0) @binding(0) var<storage, read>       top: array<u32>;          // [rows, 2, candidates]: values and tokens
@group(0) @binding(1) var<storage, read_write> search: array<u32>;       // [sentences, block]
@group(0) @binding(2) var<storage, read_write> tokens: array<u32>;       // [rows]
@group(0) @binding(3) var<storage, read_write> positions: array<u32>;    // [rows]
@group(0) @binding(4) var<storage, read_write> key_counts: array<u32>;   // [rows]
@group(0) @binding(5) var<storage, read_write> cache_slots: array<u32>;  // [rows]
@group(0) @binding(6) var<storage, read_write> slot_tokens: array<u32>;  // [rows * capacity]: token of each slot
@group(0) @binding(7) var<storage, read_write> record: array<u32>;       // [ring, rows, 2 * candidates + 1]
@group(1) @binding(0) var<uniform> p: Params;

const LANES: u32 = 8u;
const MAX_BEAMS: u32 = 16u;
const BANNED: f32 = -1.0e8;  // far below any sum of log-probabilities

// STOPPING, with as many hypotheses as beams
const AT_ONCE: u32 = 0u;         // HF early_stopping = true
const BY_LENGTH_SO_FAR: u32 = 1u;  // when the best beam, ended now, would not beat the worst of them
const BY_MAX_LENGTH: u32 = 2u;   // when it would not even at its best length, the longest

struct Continuation {
    score: f32,
    beam: u32,
    token: u32,
}

// Order of HF's flattened [beams * vocabulary] scores.
fn precedes(a: Continuation, b: Continuation) -> bool {
    if (a.score != b.score) {
        return a.score > b.score;
    }
    return a.beam < b.beam || (a.beam == b.beam && a.token < b.token);
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let sentence = flat_workgroup(workgroup, workgroups) * LANES + lane;
    let zero = zero(workgroup);
    if (sentence >= p.rows / BEAMS) {
        return;
    }
    let block = sentence * p.block;
    if (search[block + DONE] != 0u) {
        return;
    }
    let first_row = sentence * BEAMS;
    let scores = block + ENDS + p.ends;
    let parents = scores + BEAMS;
    let finished = parents + BEAMS;
    let divisors = finished + BEAMS;
    for (var beam = zero; beam < BEAMS; beam++) {
        let row = first_row + beam;
        let at = record_of(block, row);
        for (var i = zero; i < 2u * p.candidates; i++) {
            record[at + i] = top[row * 2u * p.candidates + i];
        }
        record[at + 2u * p.candidates] = tokens[row];
    }
    search[block + CLOCK] += 1u;

    let length = search[block + GENERATED] + 1u;
    let max_new = search[block + MAX_NEW];
    let live = search[block + LIVE];
    let forced = forced_token(block, length);
    let candidates = select(p.candidates, 1u, forced != NO_TOKEN);
    let divisor = bitcast<f32>(search[divisors + length]);
    var next_scores: array<f32, MAX_BEAMS>;
    var next_parents: array<u32, MAX_BEAMS>;
    var next_tokens: array<u32, MAX_BEAMS>;
    var next_live = 0u;
    var last = Continuation(-MASKED, 0u, 0u);
    // index of each beam's first candidate that is no better than the last one taken
    var cursors: array<u32, MAX_BEAMS>;
    // enough: the first BEAMS, and the first BEAMS that do not end
    for (var rank = zero; rank < BEAMS || (next_live < BEAMS && length < max_new); rank++) {
        var best = Continuation(BANNED, 0u, 0u);
        for (var beam = zero; beam < live; beam++) {
            let score = bitcast<f32>(search[scores + beam]);
            let start = (first_row + beam) * 2u * p.candidates;
            for (var i = cursors[beam]; i < candidates; i++) {
                var candidate = Continuation(score, beam, forced);
                if (forced == NO_TOKEN) {
                    candidate.score += bitcast<f32>(top[start + i]);
                    candidate.token = top[start + p.candidates + i];
                }
                if (candidate.score > last.score) {
                    cursors[beam] = i + 1u;
                } else if (candidate.score < best.score) {
                    break;  // no later one is better; an equal one may be a smaller token, because sums are rounded
                } else if (precedes(last, candidate) && precedes(candidate, best)) {
                    best = candidate;
                }
            }
        }
        if (best.score == BANNED) {
            break;  // no candidates left
        }
        last = best;
        if (length < max_new && !is_end(block, best.token, zero)) {
            if (next_live < BEAMS) {
                next_scores[next_live] = best.score;
                next_parents[next_live] = best.beam;
                next_tokens[next_live] = best.token;
                next_live++;
            }
        } else if (rank < BEAMS) {
            // after all equal ones
            let score = divide(best.score, divisor);
            let count = search[block + FINISHED];
            var place = zero;
            while (place < count && bitcast<f32>(search[finished + place]) >= score) {
                place++;
            }
            if (place < BEAMS) {
                let kept = min(count + 1u, BEAMS);
                for (var i = kept - 1u; i > place; i--) {
                    search[finished + i] = search[finished + i - 1u];
                }
                search[finished + place] = bitcast<u32>(score);
                search[block + FINISHED] = kept;
            }
        }
    }
    var done = next_live == 0u;
    if (!done) {
        search[block + GENERATED] = length;
        search[block + LIVE] = next_live;
        if (search[block + FINISHED] == BEAMS) {
            let stopping = search[block + STOPPING];
            let best_length = select(length, max_new, stopping == BY_MAX_LENGTH);
            let attainable = divide(next_scores[0], bitcast<f32>(search[divisors + best_length]));
            done = stopping == AT_ONCE || attainable <= bitcast<f32>(search[finished + BEAMS - 1u]);
        }
    }
    if (done) {
        search[block + DONE] = 1u;
    } else {
        for (var beam = zero; beam < BEAMS; beam++) {
            // rows without a live beam repeat the best one; their scores are not read
            let source = select(0u, beam, beam < next_live);
            search[scores + beam] = bitcast<u32>(next_scores[source]);
            search[parents + beam] = next_parents[source];
            continue_row(block, first_row + beam, next_tokens[source]);
        }
    }
}
