// The matrix product that every tutorial teaches: y = x·W with a tile of 16 × 16 in workgroup memory. Here to be measured
// against, not to be used: on a software adapter its barriers cost far more than the tile saves.

struct Params {
    rows: u32,
    inputs: u32,   // a multiple of 16
    outputs: u32,  // a multiple of 16
}

@group(0) @binding(0) var<storage, read>       x: array<f32>;  // [rows, inputs]
@group(0) @binding(1) var<storage, read>       w: array<f32>;  // [inputs, outputs]
@group(0) @binding(2) var<storage, read_write> y: array<f32>;  // [rows, outputs]
@group(1) @binding(0) var<uniform> p: Params;

var<workgroup> x_tile: array<f32, 256>;
var<workgroup> w_tile: array<f32, 256>;

@compute @workgroup_size(16, 16)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let row = workgroup.y * 16u + local.y;
    let column = workgroup.x * 16u + local.x;
    var sum = 0.0;
    for (var first = 0u; first < p.inputs; first += 16u) {
        x_tile[local.y * 16u + local.x] = x[min(row, p.rows - 1u) * p.inputs + first + local.x];
        w_tile[local.y * 16u + local.x] = w[(first + local.y) * p.outputs + column];
        workgroupBarrier();
        for (var i = 0u; i < 16u; i++) {
            sum += x_tile[local.y * 16u + i] * w_tile[i * 16u + local.x];
        }
        workgroupBarrier();
    }
    if (row < p.rows) {
        y[row * p.outputs + column] = sum;
    }
}
