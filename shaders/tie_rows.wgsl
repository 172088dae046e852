// y[r] = Σ x[s] over the rows s in the bucket of row r: rows of a table that stand for one row have its whole gradient.
// One invocation per element.
// uses: shared/grid.wgsl

struct Params {
    rows: u32,
    width: u32,
    first_only: u32,  // whether only the row that a bucket is named after gets the sum
}

@group(0) @binding(0) var<storage, read>       x: array<f32>;        // [rows, width]
@group(0) @binding(1) var<storage, read>       buckets: array<u32>;  // [rows]: first row of each bucket
@group(0) @binding(2) var<storage, read_write> y: array<f32>;        // [rows, width]
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_workgroup(workgroup, workgroups) * 64u + lane;
    let stride = (p.width + 3u) / 4u * 4u;
    let row = index / stride;
    let column = index % stride;
    if (row >= p.rows) {
        return;
    }
    var sum = 0.0;
    let bucket = buckets[row];
    if (column < p.width && (p.first_only == 0u || bucket == row)) {
        for (var i = zero(workgroup); i < p.rows; i++) {
            if (buckets[i] == bucket) {
                sum += x[i * stride + column];
            }
        }
    }
    y[index] = sum;
}
