// The K best tokens of each row, from the lists of its best chunks. One row per invocation. Values become
// log-probabilities: the row's log Σ exp is subtracted.
// uses: shared/log_sum_exp.wgsl, shared/candidate.wgsl, shared/masked.wgsl, shared/grid.wgsl
override NORMALIZE: bool = true;

struct Params {
    rows: u32,
    chunks: u32,      // per row
    candidates: u32,  // K
    lists: u32,       // first word of the lists in `chunks`
}

@group(0) @binding(0) var<storage, read>       chunks: array<u32>;  // see vocabulary_chunks.wgsl; then the lists
@group(0) @binding(1) var<storage, read_write> top: array<u32>;     // [rows, 2, K]: values and tokens
@group(1) @binding(0) var<uniform> p: Params;

const LANES: u32 = 8u;
const NO_TOKEN: u32 = 0xffffffffu;

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
    var origin = vec2<f32>();
    if (NORMALIZE) {
        origin = log_sum_exp(row, zero(workgroup));
    }
    let out = row * 2u * p.candidates;
    var last = FIRST;
    for (var i = zero(workgroup); i < p.candidates; i++) {
        var best = NONE;
        for (var rank = zero(workgroup); rank < p.candidates; rank++) {
            let list = p.lists + (row * p.candidates + rank) * 2u * p.candidates;
            // a list is sorted: skip taken tokens, look at one more
            for (var j = zero(workgroup); j < p.candidates; j++) {
                let candidate = Candidate(bitcast<f32>(chunks[list + j]), chunks[list + p.candidates + j]);
                if (is_before(last, candidate)) {
                    if (is_before(candidate, best)) {
                        best = candidate;
                    }
                    break;
                }
            }
        }
        // if no token is left, a maximum that is MASKED itself must not cancel; a NaN sum stays visible
        let is_none = best.value == MASKED;
        top[out + i] = bitcast<u32>(select(best.value - origin.x, MASKED, is_none) - origin.y);
        top[out + p.candidates + i] = select(best.token, NO_TOKEN, is_none);
        last = best;
    }
}
