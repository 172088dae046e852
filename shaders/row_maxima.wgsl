// The largest weight of each row of attention maps, one row per invocation.
// uses: shared/grid.wgsl
override LANES: u32 = 64u;

struct Params {
    heads: u32,
    queries: u32,
    keys: u32,
    weights_stride: u32,  // row stride
}

@group(0) @binding(0) var<storage, read>       weights: array<f32>;  // [heads * queries, keys]
@group(0) @binding(1) var<storage, read_write> maxima: array<f32>;   // [heads, 1 + queries]; the first stays
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = flat_workgroup(workgroup, workgroups) * LANES + lane;
    if (row >= p.heads * p.queries) {
        return;
    }
    var largest = 0.0;
    for (var key = zero(workgroup); key < p.keys; key++) {
        largest = max(largest, weights[row * p.weights_stride + key]);
    }
    maxima[row + row / p.queries + 1u] = largest;
}
