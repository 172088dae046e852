// context = softmax(scale * Q Kᵀ + bias) V for each head: one query per row, keys and values in a cache that an index table
// orders. Bindings, and where things lie; one of two ways to go through the keys is in a shared file.
// uses: shared/attend_invocation.wgsl or shared/attend_workgroup.wgsl
override D_HEAD: u32 = 64u;   // of queries and keys
override D_VALUE: u32 = 64u;  // of values
override ALIGNED: bool = false;  // every head starts at a multiple of four elements

struct Params {
    rows: u32,
    heads: u32,
    capacity: u32,      // slots of a row
    q_stride: u32,      // between rows
    q_offset: u32,      // first column
    key_stride: u32,    // between rows of the key cache
    value_stride: u32,  // between rows of the value cache, and of the context
    scale: f32,         // 1 / sqrt(d_head), or 1
    reach: u32,         // of the distance bias
}

@group(0) @binding(0) var<storage, read>       q: array<vec4<f32>>;        // [rows, ...]
@group(0) @binding(1) var<storage, read>       k: array<vec4<f32>>;        // [rows * capacity, heads * d_head]
@group(0) @binding(2) var<storage, read>       v: array<vec4<f32>>;        // [rows * capacity, heads * d_value]
@group(0) @binding(3) var<storage, read>       slots: array<u32>;          // [rows, capacity]: rows of k and v, in order
@group(0) @binding(4) var<storage, read>       key_counts: array<u32>;     // [rows]
@group(0) @binding(5) var<storage, read>       distance_bias: array<f32>;  // [2 * reach + 1, heads]
@group(0) @binding(6) var<storage, read_write> context: array<f32>;        // [rows, heads * d_value]
@group(1) @binding(0) var<uniform> p: Params;

fn sentences() -> u32 {
    return p.rows;
}

fn queries_of_sentence() -> u32 {
    return 1u;
}

fn query_start(row: u32, query: u32) -> u32 {
    return row * p.q_stride + p.q_offset;
}

// The query is that of the last key.
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
