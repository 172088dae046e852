// The largest absolute numbers of the shares of a matrix: every workgroup reads every 256th block of it.
// uses: shared/reduce.wgsl, shared/grid.wgsl

const SHARES: u32 = 256u;

struct Params {
    quads: u32,  // of the matrix
}

@group(0) @binding(0) var<storage, read>       x: array<vec4<f32>>;  // [quads]
@group(0) @binding(1) var<storage, read_write> largest: array<f32>;  // [SHARES]
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let share = flat_workgroup(workgroup, workgroups);
    if (share >= SHARES) {
        return;
    }
    var most = vec4(0.0);
    // four reads in flight
    for (var at = zero(workgroup) + share * LANES + lane; at < p.quads; at += 4u * SHARES * LANES) {
        let last = p.quads - 1u;
        let a = max(abs(x[at]), abs(x[min(at + SHARES * LANES, last)]));
        let b = max(abs(x[min(at + 2u * SHARES * LANES, last)]), abs(x[min(at + 3u * SHARES * LANES, last)]));
        most = max(most, max(a, b));
    }
    let of_share = reduce_max(lane, max(max(most.x, most.y), max(most.z, most.w)));
    if (lane == 0u) {
        largest[share] = of_share;
    }
}
