// context = softmax(scale * Q Kᵀ + bias + mask) V for each head. "Attention Is All You Need", 3.2.1, eq. (1).
// Bindings and addresses; the loop over the keys is in a shared file.
// uses: shared/attend_invocation.wgsl or shared/attend_workgroup.wgsl
override D_HEAD: u32 = 64u;   // of queries and keys
override D_VALUE: u32 = 64u;  // of values
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
    v_stride: u32,
    v_offset: u32,
    out_stride: u32,
    scale: f32,       // 1 / sqrt(d_head), or 1
    reach: u32,       // reach of the distance bias
}

@group(0) @binding(0) var<storage, read>       q: array<vec4<f32>>;        // [batch * queries, ...]
@group(0) @binding(1) var<storage, read>       k: array<vec4<f32>>;        // [batch * keys, ...]
@group(0) @binding(2) var<storage, read>       v: array<vec4<f32>>;        // [batch * keys, ...]
@group(0) @binding(3) var<storage, read>       key_mask: array<u32>;       // [batch, keys], nonzero = visible
@group(0) @binding(4) var<storage, read>       distance_bias: array<f32>;  // [2 * reach + 1, heads]
@group(0) @binding(5) var<storage, read_write> context: array<f32>;        // [batch * queries, heads * d_value]
@group(1) @binding(0) var<uniform> p: Params;

fn sentences() -> u32 {
    return p.batch;
}

fn queries_of_sentence() -> u32 {
    return p.queries;
}

fn query_start(sentence: u32, query: u32) -> u32 {
    return (sentence * p.queries + query) * p.q_stride + p.q_offset;
}

fn query_position(sentence: u32, query: u32) -> u32 {
    return query;
}

// Whether a query sees a key that is below its count and not masked.
fn key_count(sentence: u32, query: u32) -> u32 {
    return select(p.keys, min(p.keys, query + 1u), CAUSAL);
}

fn is_visible(sentence: u32, key: u32) -> bool {
    return key_mask[sentence * p.keys + key] != 0u;
}

fn key_start(sentence: u32, key: u32) -> u32 {
    return (sentence * p.keys + key) * p.k_stride + p.k_offset;
}

fn value_start(sentence: u32, key: u32) -> u32 {
    return (sentence * p.keys + key) * p.v_stride + p.v_offset;
}

fn context_start(sentence: u32, query: u32) -> u32 {
    return (sentence * p.queries + query) * p.out_stride;
}

fn out_stride() -> u32 {
    return p.out_stride;
}

// Nothing to add: all keys are present.
fn has_own(sentence: u32) -> bool {
    return false;
}

fn own_key_start(sentence: u32, head: u32) -> u32 {
    return 0u;
}

fn own_value_start(sentence: u32, head: u32) -> u32 {
    return 0u;
}

fn append(sentence: u32, head: u32, block: u32, lane: u32, lanes: u32) {
}
