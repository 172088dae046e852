// The gradient of a normalization's gamma: += Σ over the rows of dy ⊙ (x + residual - mean) / σ. Four quads of columns
// per workgroup. That of beta is column_sums.wgsl of dy. With several shares of rows, a sum of each.
// uses: shared/layer_norm_gradient.wgsl, shared/row_shares.wgsl, shared/reduce_rows.wgsl, shared/grid.wgsl

@group(0) @binding(3) var<storage, read>       statistics: array<vec4<f32>>;      // [rows, 2]: mean, 1 / σ
@group(0) @binding(4) var<storage, read_write> gamma_gradient: array<vec4<f32>>;  // [shares, width]

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let share = row_share(flat_workgroup(workgroup, workgroups), quads());
    let quad = share.first_quad + lane % COLUMN_QUADS;
    var sum = vec4(0.0);
    if (quad < quads()) {
        // the reads of four rows in flight
        for (var row = zero(workgroup) + share.first_row + lane / COLUMN_QUADS; row < share.end; row += 4u * ROW_LANES) {
            sum += (of_row(row, share.end, quad) + of_row(row + ROW_LANES, share.end, quad))
                + (of_row(row + 2u * ROW_LANES, share.end, quad) + of_row(row + 3u * ROW_LANES, share.end, quad));
        }
    }
    sum = reduce_rows(lane, sum);
    if (lane < COLUMN_QUADS && quad < quads() && share.index < p.shares) {
        if (p.shares == 1u) {
            gamma_gradient[quad] += sum;
        } else {
            gamma_gradient[share.index * quads() + quad] = sum;
        }
    }
}

// Four products of a row; zeros beyond the last row of the share.
fn of_row(row: u32, end: u32, quad: u32) -> vec4<f32> {
    let inside = min(row, end - 1u);
    let moments = statistics[inside];
    let gradient = inside_row(quad, dy[inside * quads() + quad]);
    return select(vec4(0.0), gradient * (centered(inside, quad, moments.x) * moments.y), row < end);
}
