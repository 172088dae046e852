// Sums of squares of blocks of a buffer, one word per workgroup.
// uses: shared/reduce.wgsl, shared/grid.wgsl
const TURNS: u32 = 16u;  // quads of an invocation

struct Params {
    quads: u32,  // of the buffer
    first: u32,  // word of `partials` of the first block
}

@group(0) @binding(0) var<storage, read>       gradient: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> partials: array<f32>;
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let block = flat_workgroup(workgroup, workgroups);
    if (block >= (p.quads + LANES * TURNS - 1u) / (LANES * TURNS)) {
        return;
    }
    var sum = vec4(0.0);
    for (var i = 0u; i < TURNS; i++) {
        let at = (block * TURNS + i) * LANES + lane;
        if (at < p.quads) {
            let value = gradient[at];
            sum = fma(value, value, sum);
        }
    }
    let of_block = reduce_sum(lane, dot(sum, vec4(1.0)));
    if (lane == 0u) {
        partials[p.first + block] = of_block;
    }
}
