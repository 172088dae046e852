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
        for (var row = zero(workgroup) + lane / COLUMN_QUADS; row < p.rows; row += ROW_LANES) {
            sum += x[row * quads + quad];
        }
    }
    sum = reduce_rows(lane, sum);
    if (lane < COLUMN_QUADS && quad < quads) {
        let column = vec4(4u * quad) + vec4(0u, 1u, 2u, 3u);
        sums[quad] += select(vec4(0.0), sum, column < vec4(p.width));
    }
}
