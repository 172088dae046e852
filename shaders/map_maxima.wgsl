// The largest weight of each attention map, from its rows' maxima. One map per invocation.
// uses: shared/grid.wgsl
override LANES: u32 = 64u;

struct Params {
    heads: u32,
    queries: u32,
    keys: u32,            // unused
    weights_stride: u32,  // unused
}

@group(0) @binding(0) var<storage, read_write> maxima: array<f32>;  // [heads, 1 + queries]
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let head = flat_workgroup(workgroup, workgroups) * LANES + lane;
    if (head >= p.heads) {
        return;
    }
    let first = head * (1u + p.queries);
    var largest = 0.0;
    for (var query = zero(workgroup); query < p.queries; query++) {
        largest = max(largest, maxima[first + 1u + query]);
    }
    maxima[first] = largest;
}
