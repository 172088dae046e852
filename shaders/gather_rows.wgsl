// out[r] = first[rows[r]], or, for numbers from the rows of `first` on, a row of `second`: a quad per invocation.
// uses: shared/grid.wgsl

struct Params {
    rows: u32,         // copied rows
    quads: u32,        // of a row, with padding
    first_rows: u32,   // rows of `first`
    second_rows: u32,  // rows of `second`
}

@group(0) @binding(0) var<storage, read>       first: array<vec4<u32>>;   // [first_rows, width]
@group(0) @binding(1) var<storage, read>       second: array<vec4<u32>>;  // [second_rows, width]
@group(0) @binding(2) var<storage, read>       numbers: array<u32>;       // [rows]
@group(0) @binding(3) var<storage, read_write> gathered: array<vec4<u32>>;  // [rows, width]
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_workgroup(workgroup, workgroups) * 64u + lane;
    if (index >= p.rows * p.quads) {
        return;
    }
    let number = numbers[index / p.quads];
    let quad = index % p.quads;
    if (number < p.first_rows) {
        gathered[index] = first[number * p.quads + quad];
    } else {
        let row = min(number - p.first_rows, p.second_rows - 1u);
        gathered[index] = second[row * p.quads + quad];
    }
}
