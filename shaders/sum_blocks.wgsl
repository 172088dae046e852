// Reads a buffer once, at full speed: each invocation sums every INVOCATIONS-th quad, so that neighbours read
// neighbours. The limit of memory-bound kernels; no model uses it.
// uses: shared/grid.wgsl
override LANES: u32 = 64u;

struct Params {
    invocations: u32,  // of the launch
    turns: u32,        // groups of four quads per invocation
}

@group(0) @binding(0) var<storage, read>       data: array<vec4<u32>>;  // [turns * 4 * invocations]
@group(0) @binding(1) var<storage, read_write> sums: array<u32>;        // [invocations]
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let first = flat_workgroup(workgroup, workgroups) * LANES + lane;
    if (first >= p.invocations) {
        return;
    }
    // four reads in flight
    var a = vec4(0u);
    var b = vec4(0u);
    var c = vec4(0u);
    var d = vec4(0u);
    var at = first;
    for (var turn = zero(workgroup); turn < p.turns; turn++) {
        a += data[at];
        b += data[at + p.invocations];
        c += data[at + 2u * p.invocations];
        d += data[at + 3u * p.invocations];
        at += 4u * p.invocations;
    }
    let sum = a + b + c + d;
    sums[first] = sum.x + sum.y + sum.z + sum.w;
}
