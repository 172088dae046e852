// Sums over rows, by 256 lanes: four quads of 64 rows at a time.
const ROW_LANES: u32 = 64u;
const COLUMN_QUADS: u32 = 4u;
var<workgroup> row_sums: array<vec4<f32>, 256>;  // [64 rows, 4 quads]

// The sum over the lanes with the same quad, `lane % COLUMN_QUADS`; all lanes must call it.
fn reduce_rows(lane: u32, value: vec4<f32>) -> vec4<f32> {
    row_sums[lane] = value;
    workgroupBarrier();
    for (var half = ROW_LANES / 2u; half > 0u; half /= 2u) {
        if (lane < half * COLUMN_QUADS) {
            row_sums[lane] += row_sums[lane + half * COLUMN_QUADS];
        }
        workgroupBarrier();
    }
    let sum = row_sums[lane % COLUMN_QUADS];
    workgroupBarrier();  // before the next reduction overwrites it
    return sum;
}
