// softmax(scale * Q Kᵀ) V with an online softmax (Milakov & Gimelshein 2018). A workgroup has sixteen queries, which
// share reads, and 64 elements of a head. It takes 32 keys at a time: a lane scores two keys for a query, then sums
// four elements of the values for that query.
// uses: shared/value_quads.wgsl, shared/context_quad.wgsl, shared/head_score.wgsl or shared/additive_score.wgsl, shared/staged_keys.wgsl,
// shared/head_quads.wgsl, shared/distance_bias.wgsl, shared/masked.wgsl, shared/grid.wgsl, and what attention.wgsl defines
const LANES: u32 = 256u;
const QUERIES: u32 = 16u;
const COLUMNS: u32 = 16u;  // lanes of a query
const KEYS: u32 = 32u;

var<workgroup> weights: array<f32, 512>;   // [queries, keys]
var<workgroup> maxima: array<f32, LANES>;  // [queries, columns]

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
        stage_keys(sentence, head, first, count, lane);
        var scores = vec2(MASKED);
        for (var i = 0u; i < 2u; i++) {
            let of_tile = i * COLUMNS + column;
            let key = min(first + of_tile, count - 1u);
            let product = score_of(q0, q1, q2, q3, q_start, staged_key(of_tile));
            let score = with_distance_bias(product * p.scale, head, query_position(sentence, query), key);
            // no branch: the reads of both keys are under way at the same time
            scores[i] = select(MASKED, score, first + of_tile < own_count && is_visible(sentence, key));
        }
        maxima[lane] = max(scores.x, scores.y);
        workgroupBarrier();
        var new_maximum = maximum;
        for (var i = 0u; i < COLUMNS; i++) {
            new_maximum = max(new_maximum, maxima[row * COLUMNS + i]);
        }
        let of_keys = select(exp(scores - new_maximum), vec2(0.0), scores == vec2(MASKED));
        weights[row * KEYS + column] = of_keys.x;
        weights[row * KEYS + COLUMNS + column] = of_keys.y;
        let keep = exp(maximum - new_maximum);
        maximum = new_maximum;
        sum *= keep;
        value *= keep;
        workgroupBarrier();
        // four keys at a time, whose reads are under way together; the weights beyond the end are zero
        for (var i = 0u; i < min(KEYS, count - first); i += 4u) {
            let at = row * KEYS + i;
            let v0 = value4(value_start(sentence, min(first + i, count - 1u)) + head * D_VALUE, d);
            let v1 = value4(value_start(sentence, min(first + i + 1u, count - 1u)) + head * D_VALUE, d);
            let v2 = value4(value_start(sentence, min(first + i + 2u, count - 1u)) + head * D_VALUE, d);
            let v3 = value4(value_start(sentence, min(first + i + 3u, count - 1u)) + head * D_VALUE, d);
            let w = vec4(weights[at], weights[at + 1u], weights[at + 2u], weights[at + 3u]);
            sum += (w.x + w.y) + (w.z + w.w);
            value = fma(vec4(w.w), v3, fma(vec4(w.z), v2, fma(vec4(w.y), v1, fma(vec4(w.x), v0, value))));
        }
        workgroupBarrier();
    }

    if (first_query + row > last_query) {
        return;
    }
    store_context(sentence, query, head, d, value, sum);
}
