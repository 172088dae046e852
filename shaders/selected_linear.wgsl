// Some outputs of a linear layer: y[r, j] = scale·x[r]·W[c] + b[c] with c = columns[sentence of r, j]. SLICES lanes share
// the inputs of an output; on a software adapter one lane has them all, and there is no barrier. The weights may be a
// part of the outputs; others do not change.
// uses: shared/weights_*.wgsl, shared/masked.wgsl, shared/grid.wgsl
override SLICES: u32 = 1u;

struct Params {
    rows: u32,
    beams: u32,         // rows per sentence
    input_quads: u32,   // ceil(inputs / 4)
    columns: u32,       // of a sentence
    y_stride: u32,
    first_output: u32,  // of this part of the weights
    part_outputs: u32,
    scale: f32,
    has_bias: u32,
}

@group(0) @binding(0) var<storage, read>       x: array<vec4<f32>>;     // [rows, inputs]
@group(0) @binding(2) var<storage, read>       bias: array<f32>;        // [outputs]
@group(0) @binding(3) var<storage, read>       columns: array<u32>;     // [rows / beams, columns]: ascending, then NO_TOKEN
@group(0) @binding(4) var<storage, read_write> y: array<f32>;           // [rows, columns]
@group(1) @binding(0) var<uniform> p: Params;

const LANES: u32 = 64u;
const NO_TOKEN: u32 = 0xffffffffu;

var<workgroup> sums: array<f32, LANES>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let outputs = LANES / SLICES;  // of a workgroup
    let groups = (p.y_stride + outputs - 1u) / outputs;
    let group = flat_workgroup(workgroup, workgroups);
    let row = group / groups;
    let column = group % groups * outputs + lane / SLICES;
    let slice = lane % SLICES;
    var output = NO_TOKEN;
    if (row < p.rows && column < p.columns) {
        output = columns[row / p.beams * p.columns + column];
    }
    // an output before the part wraps around to a large number
    let part_output = output - p.first_output;
    let is_here = output != NO_TOKEN && part_output < p.part_outputs;
    var sum = 0.0;
    if (is_here) {
        let at = part_output % 4u;
        var block = first_block(part_output / 4u, p.input_quads) + slice * BLOCK_STEP;
        for (var k = zero(workgroup) + slice; k < p.input_quads; k += SLICES) {
            let four = weights(block);
            sum += dot(x[row * p.input_quads + k], vec4(four[0][at], four[1][at], four[2][at], four[3][at]));
            block += SLICES * BLOCK_STEP;
        }
        sum *= weight_scale(part_output / 4u, p.input_quads)[at];
    }
    if (SLICES > 1u) {
        sums[lane] = sum;
        workgroupBarrier();
        if (slice == 0u) {
            for (var i = 1u; i < SLICES; i++) {
                sum += sums[lane + i];
            }
        }
    }
    if (row >= p.rows || column >= p.y_stride || slice != 0u) {
        return;
    }
    let at = row * p.y_stride + column;
    if (is_here) {
        var value = sum * p.scale;
        if (p.has_bias != 0u) {
            value += bias[output];
        }
        y[at] = value;
    } else if (output == NO_TOKEN && p.first_output == 0u) {
        // beyond the list, or padding of the row
        y[at] = select(0.0, MASKED, column < p.columns);
    }
}
