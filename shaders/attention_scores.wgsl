// scores = scale * Q Kᵀ for each head, with bias and mask if APPLY_MASK; one query, head and key per invocation.
// "Attention Is All You Need", 3.2.1, eq. (1).
// uses: shared/head_score.wgsl, shared/head_quads.wgsl, shared/cached_keys.wgsl, shared/distance_bias.wgsl, shared/masked.wgsl, shared/grid.wgsl
override D_HEAD: u32 = 64u;
override ALIGNED: bool = false;  // heads start at multiples of four elements
override CAUSAL: bool = false;  // query i sees the keys up to i
override APPLY_MASK: bool = false;  // bias, and MASKED for invisible keys

struct Params {
    batch: u32,
    heads: u32,
    queries: u32,     // per sentence
    keys: u32,        // per sentence
    q_stride: u32,    // row stride
    q_offset: u32,    // first column
    k_stride: u32,
    k_offset: u32,
    v_stride: u32,    // unused
    v_offset: u32,
    out_stride: u32,
    scale: f32,       // 1 / sqrt(d_head), or 1
    reach: u32,       // reach of the distance bias
}

@group(0) @binding(0) var<storage, read>       q: array<vec4<f32>>;        // [batch * queries, ...]
@group(0) @binding(1) var<storage, read>       k: array<vec4<f32>>;        // [batch * keys, ...]
@group(0) @binding(2) var<storage, read>       key_mask: array<u32>;       // [batch, keys], nonzero = visible
@group(0) @binding(3) var<storage, read>       distance_bias: array<f32>;  // [2 * reach + 1, heads]
@group(0) @binding(4) var<storage, read_write> scores: array<f32>;         // [batch * heads * queries, keys]
@group(1) @binding(0) var<uniform> p: Params;

const LANES: u32 = 64u;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let element = flat_workgroup(workgroup, workgroups) * LANES + lane;
    let key = element % p.out_stride;
    let row = element / p.out_stride;
    let query = row % p.queries;
    let head = row / p.queries % p.heads;
    let sentence = row / p.queries / p.heads;
    if (sentence >= p.batch) {
        return;
    }
    if (key >= p.keys) {
        scores[element] = 0.0;  // padding of the row
        return;
    }
    let q_start = (sentence * p.queries + query) * p.q_stride + p.q_offset + head * D_HEAD;
    let k_start = (sentence * p.keys + key) * p.k_stride + p.k_offset + head * D_HEAD;
    let q0 = query16(q_start, 0u);
    let q1 = query16(q_start, 16u);
    let q2 = query16(q_start, 32u);
    let q3 = query16(q_start, 48u);
    var score = score_of(q0, q1, q2, q3, q_start, k_start) * p.scale;
    let seen = key_mask[sentence * p.keys + key];
    if (APPLY_MASK) {
        score = with_distance_bias(score, head, query, key);
        score = select(MASKED, score, seen != 0u && (!CAUSAL || key <= query));
    }
    scores[element] = score;
}
