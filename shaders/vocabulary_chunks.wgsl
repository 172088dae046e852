// For each chunk of a row of logits: its best token, and the sum of its exponentials relative to that one's. One chunk per
// invocation.
// uses: shared/candidate.wgsl, shared/masked.wgsl, shared/grid.wgsl

struct Params {
    rows: u32,
    vocabulary: u32,
    logits_stride: u32,
    chunks: u32,         // of a row: chunk c holds the tokens c, c + chunks, c + 2 * chunks, ...
}

@group(0) @binding(0) var<storage, read>       logits: array<f32>;  // [rows, vocabulary]
@group(0) @binding(1) var<storage, read_write> chunks: array<u32>;  // [rows, chunks, 3]: best value, its token, sum
@group(1) @binding(0) var<uniform> p: Params;

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
    var best = NONE;
    for (var token = chunk; token < p.vocabulary; token += p.chunks) {
        let candidate = Candidate(logits[start + token], token);
        if (is_before(candidate, best)) {
            best = candidate;
        }
    }
    var sum = 0.0;
    for (var token = chunk; token < p.vocabulary; token += p.chunks) {
        sum += exp(logits[start + token] - best.value);
    }
    chunks[3u * index] = bitcast<u32>(best.value);
    chunks[3u * index + 1u] = best.token;
    chunks[3u * index + 2u] = bitcast<u32>(sum);
}
