// Sums over rows for the gradient of a batch norm. With n = (x - mean) / σ: the means of dy and of dy · n, and the sum of
// dy · n, the gradient of gamma. One invocation per column.
// uses: shared/batch_norm.wgsl, shared/grid.wgsl

@group(0) @binding(0) var<storage, read>       x: array<f32>;             // [rows, width]
@group(0) @binding(1) var<storage, read>       ranges: array<vec2<u32>>;  // [rows]: sentence of each row, empty for none
@group(0) @binding(2) var<storage, read>       statistics: array<f32>;    // [2 * width]: means, then variances
@group(0) @binding(3) var<storage, read>       dy: array<f32>;            // [rows, width]
@group(0) @binding(4) var<storage, read_write> means: array<f32>;         // [2 * width]: of dy, then of dy · n
@group(0) @binding(5) var<storage, read_write> dgamma: array<f32>;        // [width]

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let column = flat_workgroup(workgroup, workgroups) * 64u + lane;
    if (column >= stride()) {
        return;
    }
    var sum = 0.0;
    var products = 0.0;
    var count = 0.0;
    if (column < p.width) {
        let mean = statistics[column];
        let factor = inverseSqrt(statistics[p.width + column] + p.epsilon);
        for (var row = zero(workgroup); row < p.rows; row++) {
            if (ranges[row].x != ranges[row].y) {
                let at = row * stride() + column;
                sum += dy[at];
                products += dy[at] * (x[at] - mean) * factor;
                count += 1.0;
            }
        }
        means[column] = sum / max(count, 1.0);
        means[p.width + column] = products / max(count, 1.0);
    }
    dgamma[column] = products;
}
