// The gradient of the queries of attention over ranges: dQ = scale · dS · K. A workgroup has sixteen queries of a head.
// Other columns of the output stay, but for its padding, which becomes zero.
// uses: shared/ranged_attention_tile.wgsl, shared/ranged_attention_gradient.wgsl, shared/ranged_attention.wgsl,
// shared/distance_bias.wgsl, shared/random_words.wgsl, shared/philox.wgsl, shared/masked.wgsl, shared/grid.wgsl

@group(0) @binding(7) var<storage, read_write> q_gradient: array<f32>;  // [q_rows, width]

var<workgroup> score_gradients: array<f32, 256>;  // [16 queries, 16 keys]

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let group = flat_workgroup(workgroup, workgroups);
    let head = group % p.heads;
    let first_query = group / p.heads * TILE;
    if (first_query >= p.q_rows) {
        return;
    }
    let row = lane / TILE;
    let column = lane % TILE;
    let query = first_query + row;
    let range = range_of(min(query, p.q_rows - 1u), p.key_rows);
    let keys = range_of_tile(first_query, p.q_rows, p.key_rows);

    var sum0 = vec4(0.0);
    var sum1 = vec4(0.0);
    for (var first = keys.x + zero(workgroup); first < keys.y; first += TILE) {
        let key = first + column;
        let visible = query < p.q_rows && key >= range.x && key < range.y;
        score_gradients[lane] = pair_of_tile(first_query, first, head, lane, visible).score_gradient;
        workgroupBarrier();
        for (var i = 0u; i < TILE; i++) {
            let gradient = vec4(score_gradients[row * TILE + i]);
            sum0 = fma(gradient, key4(first + i, head, 4u * column), sum0);
            if (D_HEAD > 64u) {
                sum1 = fma(gradient, key4(first + i, head, 64u + 4u * column), sum1);
            }
        }
    }
    if (query >= p.q_rows) {
        return;
    }
    store(query, head, 4u * column, p.scale * sum0);
    if (D_HEAD > 64u) {
        store(query, head, 64u + 4u * column, p.scale * sum1);
    }
    if (head == 0u && column == 0u) {
        for (var i = p.width; i < p.q_stride; i++) {
            q_gradient[query * p.q_stride + i] = 0.0;
        }
    }
}

fn store(query: u32, head: u32, d: u32, value: vec4<f32>) {
    let start = query * p.q_stride + p.q_first + head * D_HEAD;
    for (var i = 0u; i < 4u && d + i < D_HEAD; i++) {
        q_gradient[start + d + i] = value[i];
    }
}
