// Replaces columns by their tokens, in place. One word per invocation; a word that is no column stays.
// uses: shared/grid.wgsl

struct Params {
    rows: u32,
    beams: u32,     // rows per sentence
    count: u32,     // words of a row that are columns
    row_step: u32,  // distance of neighbouring rows
    first: u32,     // first column of a row
    step: u32,      // distance of neighbouring columns
    width: u32,     // columns of a sentence
}

@group(0) @binding(0) var<storage, read>       columns: array<u32>;  // [sentences, width]: tokens
@group(0) @binding(1) var<storage, read_write> words: array<u32>;
@group(1) @binding(0) var<uniform> p: Params;

const LANES: u32 = 32u;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_workgroup(workgroup, workgroups) * LANES + lane;
    let row = index / p.count;
    if (row >= p.rows) {
        return;
    }
    let at = row * p.row_step + p.first + index % p.count * p.step;
    let column = words[at];
    if (column < p.width) {
        words[at] = columns[row / p.beams * p.width + column];
    }
}
