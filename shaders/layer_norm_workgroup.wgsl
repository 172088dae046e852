// y = (z - mean) / sqrt(variance + epsilon) * gamma + beta with z = x + residual, one workgroup per row.
// uses: shared/layer_norm.wgsl, shared/reduce.wgsl, shared/grid.wgsl

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // a surplus workgroup computes the last row again
    let row = min(flat_workgroup(workgroup, workgroups), p.rows - 1u);
    var mean = 0.0;
    if (CENTERED) {
        var sum = vec4(0.0);
        for (var i = lane; i < quads(); i += LANES) {
            sum += centered(row, i, 0.0);
        }
        mean = reduce_sum(lane, dot(sum, vec4(1.0))) / f32(p.width);
    }
    var squares = vec4(0.0);
    for (var i = lane; i < quads(); i += LANES) {
        let z = centered(row, i, mean);
        squares = fma(z, z, squares);
    }
    let factor = inverseSqrt(reduce_sum(lane, dot(squares, vec4(1.0))) / f32(p.width) + p.epsilon);
    for (var i = lane; i < quads(); i += LANES) {
        store(row, i, mean, factor);
    }
}
