// y = (x - mean) / √(variance + ε) · gamma + beta, with the statistics of columns. Ioffe & Szegedy 2015, algorithm 1. One
// invocation per element.
// uses: shared/batch_norm.wgsl, shared/grid.wgsl

@group(0) @binding(0) var<storage, read>       x: array<f32>;           // [rows, width]
@group(0) @binding(1) var<storage, read>       statistics: array<f32>;  // [2 * width]: means, then variances
@group(0) @binding(2) var<storage, read>       gamma: array<f32>;       // [width]
@group(0) @binding(3) var<storage, read>       beta: array<f32>;        // [width]
@group(0) @binding(4) var<storage, read_write> y: array<f32>;           // [rows, width]

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let at = flat_workgroup(workgroup, workgroups) * 64u + lane;
    if (at >= p.rows * stride()) {
        return;
    }
    let column = at % stride();
    var value = 0.0;
    if (column < p.width) {
        let factor = gamma[column] * inverseSqrt(statistics[p.width + column] + p.epsilon);
        value = (x[at] - statistics[column]) * factor + beta[column];
    }
    y[at] = value;
}
