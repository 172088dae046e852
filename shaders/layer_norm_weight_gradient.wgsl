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
        // the reads of four rows in flight
        for (var row = zero(workgroup) + lane / COLUMN_QUADS; row < p.rows; row += 4u * ROW_LANES) {
            sum += (of_row(row, quad) + of_row(row + ROW_LANES, quad))
                + (of_row(row + 2u * ROW_LANES, quad) + of_row(row + 3u * ROW_LANES, quad));
        }
    }
    sum = reduce_rows(lane, sum);
    if (lane < COLUMN_QUADS && quad < quads()) {
        gamma_gradient[quad] += sum;
    }
}

// Four products of a row; zeros beyond the last row.
fn of_row(row: u32, quad: u32) -> vec4<f32> {
    let inside = min(row, p.rows - 1u);
    let moments = statistics[inside];
    let gradient = inside_row(quad, dy[inside * quads() + quad]);
    return select(vec4(0.0), gradient * (centered(inside, quad, moments.x) * moments.y), row < p.rows);
}
