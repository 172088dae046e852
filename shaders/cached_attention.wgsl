// context = softmax(scale * Q Kᵀ + bias) V for each head: one query per row, keys and values in a cache that an index
// table orders. The projection has the columns Q, K, V. The row's own key and value go to its cache slot, the last that
// it sees; a slot beyond the cache means none. Bindings and addresses; the loop over the keys is in a shared file.
// uses: shared/attend_invocation.wgsl or shared/attend_workgroup.wgsl
override D_HEAD: u32 = 64u;   // of queries and keys
override D_VALUE: u32 = 64u;  // of values
override ALIGNED: bool = false;  // heads start at multiples of four elements
override APPENDS: bool = false;  // the kernel adds own keys and values to the cache; needs ALIGNED

struct Params {
    rows: u32,
    heads: u32,
    capacity: u32,      // slots per row
    qkv_stride: u32,    // row stride
    key_stride: u32,    // row stride of the key cache
    value_stride: u32,  // row stride of the value cache, and of the context
    scale: f32,         // 1 / sqrt(d_head), or 1
    reach: u32,         // reach of the distance bias
}

@group(0) @binding(0) var<storage, read>       q: array<vec4<f32>>;        // [rows, heads * (2 * d_head + d_value)]
@group(0) @binding(1) var<storage, read>       cache_slots: array<u32>;    // [rows]: slots of own keys and values
@group(0) @binding(2) var<storage, read>       slots: array<u32>;          // [rows, capacity]: rows of k and v, in order
@group(0) @binding(3) var<storage, read>       key_counts: array<u32>;     // [rows]
@group(0) @binding(4) var<storage, read>       distance_bias: array<f32>;  // [2 * reach + 1, heads]
@group(0) @binding(5) var<storage, read_write> k: array<vec4<f32>>;        // [rows * capacity, heads * d_head]
@group(0) @binding(6) var<storage, read_write> v: array<vec4<f32>>;        // [rows * capacity, heads * d_value]
@group(0) @binding(7) var<storage, read_write> context: array<f32>;        // [rows, heads * d_value]
@group(1) @binding(0) var<uniform> p: Params;

fn sentences() -> u32 {
    return p.rows;
}

fn queries_of_sentence() -> u32 {
    return 1u;
}

fn query_start(row: u32, query: u32) -> u32 {
    return row * p.qkv_stride;
}

// Position of the query: that of the last key.
fn query_position(row: u32, query: u32) -> u32 {
    return key_count(row, query) - 1u;
}

fn key_count(row: u32, query: u32) -> u32 {
    return min(key_counts[row], p.capacity);
}

fn is_visible(row: u32, key: u32) -> bool {
    return true;
}

fn key_start(row: u32, key: u32) -> u32 {
    return slots[row * p.capacity + key] * p.key_stride;
}

fn value_start(row: u32, key: u32) -> u32 {
    return slots[row * p.capacity + key] * p.value_stride;
}

fn context_start(row: u32, query: u32) -> u32 {
    return row * p.value_stride;
}

fn out_stride() -> u32 {
    return p.value_stride;
}

// Whether the row has a cache slot for its key and value.
fn has_own(row: u32) -> bool {
    return APPENDS && cache_slots[row] < p.rows * p.capacity;
}

// Their address in the projection.
fn own_key_start(row: u32, head: u32) -> u32 {
    return row * p.qkv_stride + (p.heads + head) * D_HEAD;
}

fn own_value_start(row: u32, head: u32) -> u32 {
    return row * p.qkv_stride + 2u * p.heads * D_HEAD + head * D_VALUE;
}

// Copies them into the cache in quads, which the lanes share: of the value, a block of 64 elements; the key together
// with its first block.
fn append(row: u32, head: u32, block: u32, lane: u32, lanes: u32) {
    let slot = cache_slots[row];
    if (block == 0u) {
        let own = own_key_start(row, head);
        let cached = (slot * p.key_stride + head * D_HEAD) / 4u;
        for (var i = lane; i < D_HEAD / 4u; i += lanes) {
            k[cached + i] = q[own / 4u + i];
        }
    }
    let own = own_value_start(row, head);
    let cached = (slot * p.value_stride + head * D_VALUE) / 4u;
    for (var i = block * 16u + lane; i < min((block + 1u) * 16u, D_VALUE / 4u); i += lanes) {
        v[cached + i] = q[own / 4u + i];
    }
}
