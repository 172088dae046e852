// cache[cache_slots[r]] = the first columns of x0[r], x1[r], … side by side. One element per invocation; rows whose
// slot is beyond the cache are skipped.
// uses: shared/grid.wgsl

struct Params {
    rows: u32,
    cache_rows: u32,
    cache_stride: u32,  // row stride
    parts: u32,         // of x0 to x5
    width: u32,         // columns of each
    stride0: u32,       // row stride of x0
    stride1: u32,
    stride2: u32,
    stride3: u32,
    stride4: u32,
    stride5: u32,
}

@group(0) @binding(0) var<storage, read>       x0: array<f32>;           // [rows, …]
@group(0) @binding(1) var<storage, read>       x1: array<f32>;
@group(0) @binding(2) var<storage, read>       x2: array<f32>;
@group(0) @binding(3) var<storage, read>       x3: array<f32>;
@group(0) @binding(4) var<storage, read>       x4: array<f32>;
@group(0) @binding(5) var<storage, read>       x5: array<f32>;
@group(0) @binding(6) var<storage, read>       cache_slots: array<u32>;  // [rows]
@group(0) @binding(7) var<storage, read_write> cache: array<f32>;        // [cache_rows, parts * width]
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_workgroup(workgroup, workgroups) * 64u + lane;
    let all = p.parts * p.width;
    let row = index / all;
    let column = index % all;
    if (row >= p.rows) {
        return;
    }
    let slot = cache_slots[row];
    if (slot >= p.cache_rows) {
        return;
    }
    let at = column % p.width;
    var value = 0.0;
    switch (column / p.width) {
        case 0u: { value = x0[row * p.stride0 + at]; }
        case 1u: { value = x1[row * p.stride1 + at]; }
        case 2u: { value = x2[row * p.stride2 + at]; }
        case 3u: { value = x3[row * p.stride3 + at]; }
        case 4u: { value = x4[row * p.stride4 + at]; }
        default: { value = x5[row * p.stride5 + at]; }
    }
    cache[slot * p.cache_stride + column] = value;
}
