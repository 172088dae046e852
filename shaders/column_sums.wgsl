// The gradient of a bias: sums[column] += Σ over the rows of x. Four quads of columns per workgroup.
// uses: shared/reduce_rows.wgsl, shared/grid.wgsl

struct Params {
    rows: u32,
    width: u32,  // columns, without padding
}

@group(0) @binding(0) var<storage, read>       x: array<vec4<f32>>;     // [rows, width]
@group(0) @binding(1) var<storage, read_write> sums: array<vec4<f32>>;  // [width]
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let quads = (p.width + 3u) / 4u;
    let quad = flat_workgroup(workgroup, workgroups) * COLUMN_QUADS + lane % COLUMN_QUADS;
    var sum = vec4(0.0);
    if (quad < quads) {
        // four reads in flight
        for (var row = zero(workgroup) + lane / COLUMN_QUADS; row < p.rows; row += 4u * ROW_LANES) {
            let at = row * quads + quad;
            let step = ROW_LANES * quads;
            sum += (of_row(row, at) + of_row(row + ROW_LANES, at + step))
                + (of_row(row + 2u * ROW_LANES, at + 2u * step) + of_row(row + 3u * ROW_LANES, at + 3u * step));
        }
    }
    sum = reduce_rows(lane, sum);
    if (lane < COLUMN_QUADS && quad < quads) {
        let column = vec4(4u * quad) + vec4(0u, 1u, 2u, 3u);
        sums[quad] += select(vec4(0.0), sum, column < vec4(p.width));
    }
}

// A quad of x; zeros beyond the last row.
fn of_row(row: u32, at: u32) -> vec4<f32> {
    return select(vec4(0.0), x[select(0u, at, row < p.rows)], row < p.rows);
}
