// key_cache[cache_slots[r]] = K[r] and value_cache[cache_slots[r]] = V[r], of a fused projection with the columns Q, K, V;
// one element of both per invocation.
// uses: shared/grid.wgsl

struct Params {
    rows: u32,
    d_model: u32,
    qkv_stride: u32,
    cache_stride: u32,
}

@group(0) @binding(0) var<storage, read>       qkv: array<f32>;          // [rows, 3 * d_model]
@group(0) @binding(1) var<storage, read>       cache_slots: array<u32>;  // [rows]
@group(0) @binding(2) var<storage, read_write> key_cache: array<f32>;    // [..., d_model]
@group(0) @binding(3) var<storage, read_write> value_cache: array<f32>;  // [..., d_model]
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_workgroup(workgroup, workgroups) * 64u + lane;
    let row = index / p.d_model;
    let d = index % p.d_model;
    if (row >= p.rows) {
        return;
    }
    let source = row * p.qkv_stride + d;
    let place = cache_slots[row] * p.cache_stride + d;
    key_cache[place] = qkv[source + p.d_model];
    value_cache[place] = qkv[source + 2u * p.d_model];
}
