// Sums of a workgroup of 256 lanes that split the inputs of a linear layer: lanes of a slice have neighbouring quads of
// outputs. All kernels that split inputs add up in the same order.
// uses: shared/linear.wgsl
override QUADS: u32 = 16u;  // quads of outputs of a workgroup: 4, 8 or 16
override SLICES: u32 = 256u / QUADS;  // of the inputs

// [rows, slices, quads]; shared/normalized_inputs.wgsl needs sixteen more than one row has
var<workgroup> sums: array<vec4<f32>, max(256u * ROWS, 272u)>;

// Zeros beyond the last input.
fn inside(inputs: vec4<f32>, quad: u32) -> vec4<f32> {
    return select(vec4(0.0), inputs, quad < p.input_quads);
}

// The sum of all slices of a row that 64 lanes have, whose sums begin at `first`; for the first QUADS of these lanes.
// All lanes must call it.
fn total_of_slices(lane: u32, first: u32) -> vec4<f32> {
    let part = lane % 64u;
    var sum = vec4(0.0);
    if (first < 256u * ROWS) {
        sum = (sums[first + part] + sums[first + part + 64u])
            + (sums[first + part + 128u] + sums[first + part + 192u]);
    }
    workgroupBarrier();
    if (first < 256u * ROWS) {
        sums[first + part] = sum;
    }
    workgroupBarrier();
    if (part < QUADS && first < 256u * ROWS) {
        for (var i = QUADS; i < 64u; i += QUADS) {
            sum += sums[first + part + i];
        }
    }
    return sum;
}
