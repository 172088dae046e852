// key_cache[cache_slots[r]] = K[r] and value_cache[cache_slots[r]] = V[r], from a fused projection with the columns Q,
// K, V. One element of both per invocation; rows whose slot is beyond the caches are skipped.
// uses: shared/grid.wgsl

struct Params {
    rows: u32,
    cache_rows: u32,
    key_width: u32,    // of a query, too
    value_width: u32,
    qkv_stride: u32,   // row stride
    key_stride: u32,
    value_stride: u32,
}

@group(0) @binding(0) var<storage, read>       qkv: array<f32>;          // [rows, 2 * key_width + value_width]
@group(0) @binding(1) var<storage, read>       cache_slots: array<u32>;  // [rows]
@group(0) @binding(2) var<storage, read_write> key_cache: array<f32>;    // [cache_rows, key_width]
@group(0) @binding(3) var<storage, read_write> value_cache: array<f32>;  // [cache_rows, value_width]
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_workgroup(workgroup, workgroups) * 64u + lane;
    let width = max(p.key_width, p.value_width);
    let row = index / width;
    let d = index % width;
    if (row >= p.rows) {
        return;
    }
    let slot = cache_slots[row];
    if (slot >= p.cache_rows) {
        return;
    }
    let source = row * p.qkv_stride + d;
    if (d < p.key_width) {
        key_cache[slot * p.key_stride + d] = qkv[source + p.key_width];
    }
    if (d < p.value_width) {
        value_cache[slot * p.value_stride + d] = qkv[source + 2u * p.key_width];
    }
}
