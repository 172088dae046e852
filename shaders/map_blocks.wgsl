// The lowest level of smaller maps: the largest of each 2 x 2 weights, and their largest share of a row's largest
// weight. One block per invocation.
// uses: shared/grid.wgsl
override LANES: u32 = 64u;

struct Params {
    heads: u32,
    queries: u32,
    keys: u32,
    weights_stride: u32,  // row stride
    blocks_stride: u32,   // blocks per map
}

@group(0) @binding(0) var<storage, read>       weights: array<f32>;  // [heads * queries, keys]
@group(0) @binding(1) var<storage, read>       maxima: array<f32>;   // [heads, 1 + queries]: of the map, then of its rows
@group(0) @binding(2) var<storage, read_write> blocks: array<u32>;   // [heads, blocks of all levels]: weight and share, f16
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_workgroup(workgroup, workgroups) * LANES + lane;
    let rows = (p.queries + 1u) / 2u;
    let columns = (p.keys + 1u) / 2u;
    if (index >= p.heads * rows * columns) {
        return;
    }
    let head = index / (rows * columns);
    let block = index % (rows * columns);
    let query = 2u * (block / columns);
    let key = 2u * (block % columns);
    let right = min(key + 1u, p.keys - 1u);
    var largest = vec2(0.0);
    for (var i = zero(workgroup); i < 2u; i++) {
        let row = head * p.queries + min(query + i, p.queries - 1u);
        let weight = max(weights[row * p.weights_stride + key], weights[row * p.weights_stride + right]);
        let of_row = maxima[row + head + 1u];
        largest = max(largest, vec2(weight, select(0.0, weight / of_row, of_row > 0.0)));
    }
    blocks[head * p.blocks_stride + block] = pack2x16float(largest);
}
