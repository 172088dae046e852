// For each chunk of a row of logits: its maximum, the sum of its exponentials, and its best candidates, best first, equal
// ones by ascending token. One chunk per invocation; a chunk is searched once for each candidate, because a sorted list
// that is indexed at run time would leave the registers.
// uses: shared/masked.wgsl, shared/grid.wgsl

struct Params {
    rows: u32,
    vocabulary: u32,
    logits_stride: u32,
    chunks: u32,         // of a row: chunk c holds the tokens c, c + chunks, c + 2 * chunks, ...
    candidates: u32,     // of a chunk; none: only its sum
}

@group(0) @binding(0) var<storage, read>       logits: array<f32>;      // [rows, vocabulary]
@group(0) @binding(1) var<storage, read_write> chunk_tops: array<u32>;  // [rows, chunks, maximum | sum | values | tokens]
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
    let out = index * (2u + 2u * p.candidates);

    var maximum = MASKED;
    for (var token = chunk; token < p.vocabulary; token += p.chunks) {
        maximum = max(maximum, logits[start + token]);
    }
    var sum = 0.0;
    for (var token = chunk; token < p.vocabulary; token += p.chunks) {
        sum += exp(logits[start + token] - maximum);
    }
    chunk_tops[out] = bitcast<u32>(maximum);
    chunk_tops[out + 1u] = bitcast<u32>(sum);

    var last = -MASKED;
    var last_token = 0u;
    for (var i = 0u; i < p.candidates; i++) {
        var best = MASKED;
        var best_token = NO_TOKEN;
        for (var token = chunk; token < p.vocabulary; token += p.chunks) {
            let value = logits[start + token];
            let is_left = value < last || (value == last && token > last_token);
            if (is_left && value > best) {
                best = value;
                best_token = token;
            }
        }
        chunk_tops[out + 2u + i] = bitcast<u32>(best);
        chunk_tops[out + 2u + p.candidates + i] = best_token;
        last = best;
        last_token = best_token;
    }
}
