// The gradient of a bias: sums[column] += Σ over the rows of x. Four quads of columns per workgroup.
// uses: shared/row_shares.wgsl, shared/reduce_rows.wgsl, shared/grid.wgsl

struct Params {
    rows: u32,
    width: u32,       // columns, without padding
    share_rows: u32,  // rows that a workgroup adds up
    shares: u32,      // 1: the sums are added to those there, more: there is a sum for each share
}

@group(0) @binding(0) var<storage, read>       x: array<vec4<f32>>;     // [rows, width]
@group(0) @binding(1) var<storage, read_write> sums: array<vec4<f32>>;  // [shares, width]
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let quads = (p.width + 3u) / 4u;
    let share = row_share(flat_workgroup(workgroup, workgroups), quads);
    let quad = share.first_quad + lane % COLUMN_QUADS;
    var sum = vec4(0.0);
    if (quad < quads) {
        // four reads in flight
        for (var row = zero(workgroup) + share.first_row + lane / COLUMN_QUADS; row < share.end; row += 4u * ROW_LANES) {
            let rows = vec4(row) + ROW_LANES * vec4(0u, 1u, 2u, 3u);
            let at = min(rows, vec4(share.end - 1u)) * quads + quad;
            let inside = rows < vec4(share.end);
            sum += (select(vec4(0.0), x[at.x], inside.x) + select(vec4(0.0), x[at.y], inside.y))
                + (select(vec4(0.0), x[at.z], inside.z) + select(vec4(0.0), x[at.w], inside.w));
        }
    }
    sum = reduce_rows(lane, sum);
    if (lane < COLUMN_QUADS && quad < quads && share.index < p.shares) {
        let column = vec4(4u * quad) + vec4(0u, 1u, 2u, 3u);
        let inside = select(vec4(0.0), sum, column < vec4(p.width));
        if (p.shares == 1u) {
            sums[quad] += inside;
        } else {
            sums[share.index * quads + quad] = inside;
        }
    }
}
