// y = earlier + act(z), or earlier + act(z) ⊙ factor: four elements per invocation.
// uses: shared/activation.wgsl, shared/grid.wgsl

struct Params {
    rows: u32,
    width: u32,        // elements of a row, without padding
    activation: u32,   // see shared/activation.wgsl
    has_factor: u32,
    has_earlier: u32,
}

@group(0) @binding(0) var<storage, read>       z: array<vec4<f32>>;        // [rows, width]
@group(0) @binding(1) var<storage, read>       factor: array<vec4<f32>>;   // [rows, width]
@group(0) @binding(2) var<storage, read>       earlier: array<vec4<f32>>;  // [rows, width]
@group(0) @binding(3) var<storage, read_write> y: array<vec4<f32>>;        // [rows, width]
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let at = flat_workgroup(workgroup, workgroups) * 64u + lane;
    let quads = (p.width + 3u) / 4u;
    if (at >= p.rows * quads) {
        return;
    }
    var value = activate(z[at], p.activation);
    if (p.has_factor != 0u) {
        value *= factor[at];
    }
    if (p.has_earlier != 0u) {
        value += earlier[at];
    }
    let column = vec4(at % quads * 4u) + vec4(0u, 1u, 2u, 3u);
    y[at] = select(vec4(0.0), value, column < vec4(p.width));
}
