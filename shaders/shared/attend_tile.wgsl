// softmax(scale * Q Kᵀ) V with an online softmax (Milakov & Gimelshein 2018). A workgroup has sixteen queries, which
// share reads, and 64 elements of a head. It takes 64 keys at a time: a lane scores four keys for a query, then sums
// four elements of the values for that query.
// uses: shared/value_quads.wgsl, shared/head_score.wgsl or shared/additive_score.wgsl, shared/head_quads.wgsl,
// shared/distance_bias.wgsl, shared/masked.wgsl, shared/grid.wgsl, and what attention.wgsl defines
const LANES: u32 = 256u;
const QUERIES: u32 = 16u;
const COLUMNS: u32 = 16u;  // lanes of a query
const KEYS: u32 = 64u;

var<workgroup> weights: array<f32, 1024>;  // [queries, keys]
var<workgroup> maxima: array<f32, LANES>;  // [queries, columns]
var<workgroup> sums: array<f32, LANES>;    // [queries, columns]

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let blocks = (D_VALUE + 63u) / 64u;
    let tiles = (queries_of_sentence() + QUERIES - 1u) / QUERIES;
    var group = flat_workgroup(workgroup, workgroups);
    let first_element = group % blocks * 64u;
    group /= blocks;
    let first_query = group % tiles * QUERIES;
    group /= tiles;
    let head = group % p.heads;
    // a surplus workgroup computes a part of the last sentence again
    let sentence = min(group / p.heads, sentences() - 1u);
    let row = lane / COLUMNS;
    let column = lane % COLUMNS;
    let last_query = queries_of_sentence() - 1u;
    let query = min(first_query + row, last_query);
    let q_start = query_start(sentence, query) + head * D_HEAD;
    let q0 = query16(q_start, 0u);
    let q1 = query16(q_start, 16u);
    let q2 = query16(q_start, 32u);
    let q3 = query16(q_start, 48u);

    var maximum = MASKED;
    var sum = 0.0;
    var value = vec4(0.0);
    let own_count = key_count(sentence, query);
    let count = key_count(sentence, min(first_query + QUERIES - 1u, last_query));
    let d = first_element + 4u * column;
    for (var first = zero(workgroup); first < count; first += KEYS) {
        var scores = vec4(MASKED);
        for (var i = 0u; i < 4u; i++) {
            let key = first + i * COLUMNS + column;
            if (key < own_count && is_visible(sentence, key)) {
                let score = score_of(q0, q1, q2, q3, q_start, key_start(sentence, key) + head * D_HEAD);
                scores[i] = with_distance_bias(score * p.scale, head, query_position(sentence, query), key);
            }
        }
        maxima[lane] = max(max(scores.x, scores.y), max(scores.z, scores.w));
        workgroupBarrier();
        var new_maximum = maximum;
        for (var i = 0u; i < COLUMNS; i++) {
            new_maximum = max(new_maximum, maxima[row * COLUMNS + i]);
        }
        let of_keys = select(exp(scores - new_maximum), vec4(0.0), scores == vec4(MASKED));
        for (var i = 0u; i < 4u; i++) {
            weights[row * KEYS + i * COLUMNS + column] = of_keys[i];
        }
        sums[lane] = (of_keys.x + of_keys.y) + (of_keys.z + of_keys.w);
        workgroupBarrier();
        let keep = exp(maximum - new_maximum);
        maximum = new_maximum;
        var sum_of_keys = 0.0;
        for (var i = 0u; i < COLUMNS; i++) {
            sum_of_keys += sums[row * COLUMNS + i];
        }
        sum = sum * keep + sum_of_keys;
        value *= keep;
        for (var i = 0u; i < min(KEYS, count - first); i++) {
            let v_start = value_start(sentence, first + i) + head * D_VALUE;
            value = fma(vec4(weights[row * KEYS + i]), value4(v_start, d), value);
        }
        workgroupBarrier();
    }

    if (first_query + row > last_query) {
        return;
    }
    let start = context_start(sentence, query);
    for (var i = 0u; i < 4u; i++) {
        if (d + i < D_VALUE) {
            context[start + head * D_VALUE + d + i] = select(0.0, value[i] / sum, sum > 0.0);
        }
        // padding of the row
        let padding = p.heads * D_VALUE + d + i;
        if (head == p.heads - 1u && padding < out_stride()) {
            context[start + padding] = 0.0;
        }
    }
}
