// The gradient of y = act(z) or act(z) ⊙ factor: dz = earlier + dy (⊙ factor) ⊙ act'(z), four elements per invocation.
// The gradient of the factor, dy ⊙ act(z), is activate.wgsl with dy for a factor.
// uses: shared/activation_gradient.wgsl, shared/activation.wgsl, shared/grid.wgsl

struct Params {
    rows: u32,
    width: u32,        // elements of a row, without padding
    activation: u32,   // see shared/activation.wgsl
    has_factor: u32,
    has_earlier: u32,
}

@group(0) @binding(0) var<storage, read>       dy: array<vec4<f32>>;       // [rows, width]
@group(0) @binding(1) var<storage, read>       z: array<vec4<f32>>;        // [rows, width]
@group(0) @binding(2) var<storage, read>       factor: array<vec4<f32>>;   // [rows, width]
@group(0) @binding(3) var<storage, read>       earlier: array<vec4<f32>>;  // [rows, width]
@group(0) @binding(4) var<storage, read_write> dz: array<vec4<f32>>;       // [rows, width]
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
    var value = dy[at] * activation_gradient(z[at], p.activation);
    if (p.has_factor != 0u) {
        value *= factor[at];
    }
    if (p.has_earlier != 0u) {
        value += earlier[at];
    }
    let column = vec4(at % quads * 4u) + vec4(0u, 1u, 2u, 3u);
    dz[at] = select(vec4(0.0), value, column < vec4(p.width));
}
