// y = (z - mean) / sqrt(variance + epsilon) * gamma + beta with z = x + residual, one invocation per row.
// uses: shared/layer_norm.wgsl, shared/grid.wgsl

@compute @workgroup_size(8)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = flat_workgroup(workgroup, workgroups) * 8u + lane;
    if (row >= p.rows) {
        return;
    }
    var mean = 0.0;
    if (CENTERED) {
        var sum = vec4(0.0);
        for (var i = zero(workgroup); i < quads(); i++) {
            sum += centered(row, i, 0.0);
        }
        mean = dot(sum, vec4(1.0)) / f32(p.width);
    }
    var squares = vec4(0.0);
    for (var i = zero(workgroup); i < quads(); i++) {
        let z = centered(row, i, mean);
        squares = fma(z, z, squares);
    }
    let factor = inverseSqrt(dot(squares, vec4(1.0)) / f32(p.width) + p.epsilon);
    for (var i = zero(workgroup); i < quads(); i++) {
        store(row, i, mean, factor);
    }
}
