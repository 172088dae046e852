// The gradient of a batch norm's input: with n = (x - mean) / σ, dx = (dy - mean(dy) - n · mean(dy · n)) · gamma / σ for rows of
// sentences, and 0 for others. One invocation per element.
// uses: shared/batch_norm.wgsl, shared/grid.wgsl

@group(0) @binding(0) var<storage, read>       x: array<f32>;             // [rows, width]
@group(0) @binding(1) var<storage, read>       ranges: array<vec2<u32>>;  // [rows]: sentence of each row, empty for none
@group(0) @binding(2) var<storage, read>       statistics: array<f32>;    // [2 * width]: means, then variances
@group(0) @binding(3) var<storage, read>       gamma: array<f32>;         // [width]
@group(0) @binding(4) var<storage, read>       dy: array<f32>;            // [rows, width]
@group(0) @binding(5) var<storage, read>       means: array<f32>;         // [2 * width]: of dy, then of dy · n
@group(0) @binding(6) var<storage, read_write> dx: array<f32>;            // [rows, width]

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
    let row = at / stride();
    let column = at % stride();
    var value = 0.0;
    if (column < p.width && ranges[row].x != ranges[row].y) {
        let factor = inverseSqrt(statistics[p.width + column] + p.epsilon);
        let n = (x[at] - statistics[column]) * factor;
        value = (dy[at] - means[column] - n * means[p.width + column]) * gamma[column] * factor;
    }
    dx[at] = value;
}
