// One level of smaller maps: the largest of each 2 x 2 blocks of the level below. One block per invocation.
// uses: shared/grid.wgsl
override LANES: u32 = 64u;

struct Params {
    heads: u32,
    below: u32,          // first block of the level below
    below_rows: u32,
    below_columns: u32,
    begin: u32,          // first block of this level
    rows: u32,
    columns: u32,
    blocks_stride: u32,  // blocks per map
}

@group(0) @binding(0) var<storage, read_write> blocks: array<u32>;  // [heads, blocks of all levels]: weight and share, f16
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_workgroup(workgroup, workgroups) * LANES + lane;
    if (index >= p.heads * p.rows * p.columns) {
        return;
    }
    let map = index / (p.rows * p.columns) * p.blocks_stride;
    let block = index % (p.rows * p.columns);
    let row = 2u * (block / p.columns);
    let column = 2u * (block % p.columns);
    let right = min(column + 1u, p.below_columns - 1u);
    var largest = vec2(0.0);
    for (var i = zero(workgroup); i < 2u; i++) {
        let first = map + p.below + min(row + i, p.below_rows - 1u) * p.below_columns;
        largest = max(largest, max(unpack2x16float(blocks[first + column]), unpack2x16float(blocks[first + right])));
    }
    blocks[map + p.begin + block] = pack2x16float(largest);
}
