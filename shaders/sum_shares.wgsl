// Adds up the shares of a gradient whose summands several workgroups shared out, in their order: a quad per invocation.
// uses: shared/grid.wgsl

struct Params {
    quads: u32,    // of a share
    shares: u32,
    earlier: u32,  // an addend. 0: nothing, 1: the buffer `earlier`, 2: what sums holds
}

@group(0) @binding(0) var<storage, read>       of_shares: array<vec4<f32>>;  // [shares, quads]
@group(0) @binding(1) var<storage, read>       earlier: array<vec4<f32>>;    // [quads]
@group(0) @binding(2) var<storage, read_write> sums: array<vec4<f32>>;       // [quads]
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let quad = flat_workgroup(workgroup, workgroups) * 64u + lane;
    if (quad >= p.quads) {
        return;
    }
    var sum = vec4(0.0);
    // four reads in flight
    for (var share = zero(workgroup); share < p.shares; share += 4u) {
        sum += (part(quad, share) + part(quad, share + 1u)) + (part(quad, share + 2u) + part(quad, share + 3u));
    }
    if (p.earlier == 1u) {
        sum += earlier[quad];
    } else if (p.earlier == 2u) {
        sum += sums[quad];
    }
    sums[quad] = sum;
}

// A quad of a share; zeros beyond the last one.
fn part(quad: u32, share: u32) -> vec4<f32> {
    return select(vec4(0.0), of_shares[min(share, p.shares - 1u) * p.quads + quad], share < p.shares);
}
