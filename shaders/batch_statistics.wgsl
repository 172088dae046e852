// The mean and the variance of each column over the rows of sentences. The running ones move towards them, the variance with
// n - 1 in its denominator. One invocation per column.
// uses: shared/batch_norm.wgsl, shared/grid.wgsl

@group(0) @binding(0) var<storage, read>       x: array<f32>;             // [rows, width]
@group(0) @binding(1) var<storage, read>       ranges: array<vec2<u32>>;  // [rows]: sentence of each row, empty for none
@group(0) @binding(2) var<storage, read_write> running: array<f32>;       // [2 * width]: means, then variances
@group(0) @binding(3) var<storage, read_write> statistics: array<f32>;    // [2 * width]: means, then variances

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let column = flat_workgroup(workgroup, workgroups) * 64u + lane;
    if (column >= p.width) {
        return;
    }
    var sum = 0.0;
    var count = 0.0;
    for (var row = zero(workgroup); row < p.rows; row++) {
        if (ranges[row].x != ranges[row].y) {
            sum += x[row * stride() + column];
            count += 1.0;
        }
    }
    let n = max(count, 1.0);
    let mean = sum / n;
    var squares = 0.0;
    for (var row = zero(workgroup); row < p.rows; row++) {
        if (ranges[row].x != ranges[row].y) {
            let z = x[row * stride() + column] - mean;
            squares = fma(z, z, squares);
        }
    }
    statistics[column] = mean;
    statistics[p.width + column] = squares / n;
    if (count > 0.0) {
        let unbiased = squares / max(n - 1.0, 1.0);
        running[column] += p.momentum * (mean - running[column]);
        running[p.width + column] += p.momentum * (unbiased - running[p.width + column]);
    }
}
