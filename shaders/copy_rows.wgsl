// to[at + r] = from[first + r] for `rows` rows: a quad of a row per invocation.
// uses: shared/grid.wgsl

struct Params {
    rows: u32,   // copied rows
    quads: u32,  // of a row, with padding
    first: u32,  // row of `from`
    at: u32,     // row of `to`
}

@group(0) @binding(0) var<storage, read>       source_rows: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> target_rows: array<vec4<u32>>;
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_workgroup(workgroup, workgroups) * 64u + lane;
    if (index < p.rows * p.quads) {
        target_rows[p.at * p.quads + index] = source_rows[p.first * p.quads + index];
    }
}
