// weights = softmax(scale * Q Kᵀ + bias + mask) for each head, one query and head per invocation.
// "Attention Is All You Need", 3.2.1, eq. (1).
// uses: shared/head_score.wgsl or shared/additive_score.wgsl, shared/head_quads.wgsl, shared/cached_keys.wgsl,
// shared/distance_bias.wgsl, shared/masked.wgsl, shared/grid.wgsl
override D_HEAD: u32 = 64u;
override ALIGNED: bool = false;  // heads start at multiples of four elements
override CAUSAL: bool = false;  // query i sees the keys up to i

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
@group(0) @binding(4) var<storage, read_write> weights: array<f32>;        // [batch * heads * queries, keys]
@group(1) @binding(0) var<uniform> p: Params;

const LANES: u32 = 8u;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = flat_workgroup(workgroup, workgroups) * LANES + lane;
    let query = row % p.queries;
    let head = row / p.queries % p.heads;
    let sentence = row / p.queries / p.heads;
    if (sentence >= p.batch) {
        return;
    }
    let q_start = (sentence * p.queries + query) * p.q_stride + p.q_offset + head * D_HEAD;
    let out = row * p.out_stride;
    let q0 = query16(q_start, 0u);
    let q1 = query16(q_start, 16u);
    let q2 = query16(q_start, 32u);
    let q3 = query16(q_start, 48u);

    // scores first, then weights in the same place
    var maximum = MASKED;
    var sum = 0.0;
    for (var key = zero(workgroup); key < p.keys; key++) {
        let k_start = (sentence * p.keys + key) * p.k_stride + p.k_offset + head * D_HEAD;
        var score = score_of(q0, q1, q2, q3, q_start, k_start) * p.scale;
        score = with_distance_bias(score, head, query, key);
        let visible = key_mask[sentence * p.keys + key] != 0u && (!CAUSAL || key <= query);
        score = select(MASKED, score, visible);
        weights[out + key] = score;
        let new_maximum = max(maximum, score);
        sum = sum * exp(maximum - new_maximum) + select(0.0, exp(score - new_maximum), visible);
        maximum = new_maximum;
    }
    let factor = select(0.0, 1.0 / sum, sum > 0.0);
    for (var key = zero(workgroup); key < p.keys; key++) {
        let score = weights[out + key];
        weights[out + key] = select(exp(score - maximum) * factor, 0.0, score == MASKED);
    }
    for (var key = zero(workgroup) + p.keys; key < p.out_stride; key++) {
        weights[out + key] = 0.0;
    }
}
