// The gradient of a normalization's gamma: += Σ over the rows of dy ⊙ (x + residual - mean) / σ. Four quads of columns
// per workgroup. That of beta is column_sums.wgsl of dy.
// uses: shared/layer_norm_gradient.wgsl, shared/reduce_rows.wgsl, shared/grid.wgsl

@group(0) @binding(3) var<storage, read>       statistics: array<vec4<f32>>;      // [rows, 2]: mean, 1 / σ
@group(0) @binding(4) var<storage, read_write> gamma_gradient: array<vec4<f32>>;  // [width]

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let quad = flat_workgroup(workgroup, workgroups) * COLUMN_QUADS + lane % COLUMN_QUADS;
    var sum = vec4(0.0);
    if (quad < quads()) {
        for (var row = zero(workgroup) + lane / COLUMN_QUADS; row < p.rows; row += ROW_LANES) {
            let of_row = statistics[row];
            let gradient = inside_row(quad, dy[row * quads() + quad]);
            sum = fma(gradient, centered(row, quad, of_row.x) * of_row.y, sum);
        }
    }
    sum = reduce_rows(lane, sum);
    if (lane < COLUMN_QUADS && quad < quads()) {
        gamma_gradient[quad] += sum;
    }
}
