// The gradients of the keys and values of attention over ranges: dK = scale · dSᵀ · Q, dV = P'ᵀ · dcontext. A workgroup
// has sixteen keys of a head; `ranges` has the queries that see each key. Other columns of the output stay, but for its
// padding, which becomes zero.
// uses: shared/ranged_attention_tile.wgsl, shared/ranged_attention_gradient.wgsl, shared/ranged_attention.wgsl,
// shared/distance_bias.wgsl, shared/random_words.wgsl, shared/philox.wgsl, shared/masked.wgsl, shared/grid.wgsl

@group(0) @binding(7) var<storage, read_write> kv_gradient: array<f32>;  // [key_rows, width]

var<workgroup> weights: array<f32, 256>;          // [16 queries, 16 keys]
var<workgroup> score_gradients: array<f32, 256>;  // [16 queries, 16 keys]

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let group = flat_workgroup(workgroup, workgroups);
    let head = group % p.heads;
    let first_key = group / p.heads * TILE;
    if (first_key >= p.key_rows) {
        return;
    }
    let row = lane / TILE;
    let column = lane % TILE;
    // the key of this lane's pairs, and the key that it sums
    let pair_key = first_key + column;
    let key = first_key + row;
    let range = range_of(min(pair_key, p.key_rows - 1u), p.q_rows);
    let queries = range_of_tile(first_key, p.key_rows, p.q_rows);

    var key0 = vec4(0.0);
    var key1 = vec4(0.0);
    var value0 = vec4(0.0);
    var value1 = vec4(0.0);
    for (var first = queries.x + zero(workgroup); first < queries.y; first += TILE) {
        let query = first + row;
        let visible = pair_key < p.key_rows && query >= range.x && query < range.y;
        let pair = pair_of_tile(first, first_key, head, lane, visible);
        weights[lane] = pair.weight;
        score_gradients[lane] = pair.score_gradient;
        workgroupBarrier();
        for (var i = 0u; i < TILE; i++) {
            let weight = vec4(weights[i * TILE + row]);
            let gradient = vec4(score_gradients[i * TILE + row]);
            key0 = fma(gradient, query4(first + i, head, 4u * column), key0);
            value0 = fma(weight, context_gradient4(first + i, head, 4u * column), value0);
            if (D_HEAD > 64u) {
                key1 = fma(gradient, query4(first + i, head, 64u + 4u * column), key1);
            }
            if (D_VALUE > 64u) {
                value1 = fma(weight, context_gradient4(first + i, head, 64u + 4u * column), value1);
            }
        }
    }
    if (key >= p.key_rows) {
        return;
    }
    let start = key * p.kv_stride;
    store(start + p.k_first + head * D_HEAD, 4u * column, D_HEAD, p.scale * key0);
    store(start + p.v_first + head * D_VALUE, 4u * column, D_VALUE, value0);
    if (D_HEAD > 64u) {
        store(start + p.k_first + head * D_HEAD, 64u + 4u * column, D_HEAD, p.scale * key1);
    }
    if (D_VALUE > 64u) {
        store(start + p.v_first + head * D_VALUE, 64u + 4u * column, D_VALUE, value1);
    }
    if (head == 0u && column == 0u) {
        for (var i = p.width; i < p.kv_stride; i++) {
            kv_gradient[start + i] = 0.0;
        }
    }
}

fn store(start: u32, d: u32, length: u32, value: vec4<f32>) {
    for (var i = 0u; i < 4u && d + i < length; i++) {
        kv_gradient[start + d + i] = value[i];
    }
}
