// sums[r] = Σ x[i] over the rows i of a range: a quad per invocation. Guo et al. 2022, "LongT5", 3.1.
// uses: shared/grid.wgsl

struct Params {
    rows: u32,    // sums
    quads: u32,   // of a row, with padding
    x_rows: u32,  // rows of x
}

@group(0) @binding(0) var<storage, read>       x: array<vec4<f32>>;       // [x_rows, width]
@group(0) @binding(1) var<storage, read>       ranges: array<vec2<u32>>;  // [rows]: first row of x, and the end
@group(0) @binding(2) var<storage, read_write> sums: array<vec4<f32>>;    // [rows, width]
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_workgroup(workgroup, workgroups) * 64u + lane;
    if (index >= p.rows * p.quads) {
        return;
    }
    let range = ranges[index / p.quads];
    var sum = vec4(0.0);
    for (var row = zero(workgroup) + range.x; row < min(range.y, p.x_rows); row++) {
        sum += x[row * p.quads + index % p.quads];
    }
    sums[index] = sum;
}
