// softmax(scale * Q Kᵀ) V with an online softmax (Milakov & Gimelshein 2018). A workgroup has one query and 64 elements
// of a head. It takes 64 keys at a time: a lane scores a key, then sums one element of the values.
// uses: shared/distance_bias.wgsl, shared/reduce.wgsl, shared/masked.wgsl, shared/grid.wgsl, and what attention.wgsl and
// cached_attention.wgsl define

var<workgroup> weights: array<f32, LANES>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let blocks = (D_VALUE + LANES - 1u) / LANES;
    var group = flat_workgroup(workgroup, workgroups);
    let d = group % blocks * LANES + lane;
    group /= blocks;
    let query = group % queries_of_sentence();
    group /= queries_of_sentence();
    let head = group % p.heads;
    // a surplus workgroup computes a part of the last sentence again
    let sentence = min(group / p.heads, sentences() - 1u);
    let q_start = query_start(sentence, query) + head * D_HEAD;

    var maximum = MASKED;
    var sum = 0.0;
    var value = 0.0;
    var count = key_count(sentence, query);
    if (has_own(sentence)) {
        // the last key comes first, not from the cache, where not all lanes may see it yet
        count = max(count, 1u) - 1u;
        var product = 0.0;
        for (var i = lane; i < D_HEAD; i += LANES) {
            let a = q_start + i;
            let b = own_key_start(sentence, head) + i;
            product = fma(q[a / 4u][a % 4u], q[b / 4u][b % 4u], product);
        }
        let score = reduce_sum(lane, product) * p.scale;
        maximum = with_distance_bias(score, head, query_position(sentence, query), count);
        sum = 1.0;
        let own = own_value_start(sentence, head) + min(d, D_VALUE - 1u);
        value = q[own / 4u][own % 4u];
        append(sentence, head, d / LANES, lane, LANES);
    }
    for (var first = zero(workgroup); first < count; first += LANES) {
        let key = first + lane;
        var score = MASKED;
        if (key < count && is_visible(sentence, key)) {
            let k_start = key_start(sentence, key) + head * D_HEAD;
            score = 0.0;
            if (ALIGNED) {
                for (var i = 0u; i < D_HEAD / 4u; i++) {
                    score += dot(q[q_start / 4u + i], k[k_start / 4u + i]);
                }
            } else {
                for (var i = 0u; i < D_HEAD; i++) {
                    let a = q_start + i;
                    let b = k_start + i;
                    score = fma(q[a / 4u][a % 4u], k[b / 4u][b % 4u], score);
                }
            }
            score = with_distance_bias(score * p.scale, head, query_position(sentence, query), key);
        }
        let new_maximum = max(maximum, reduce_max(lane, score));
        let keep = exp(maximum - new_maximum);
        let weight = select(exp(score - new_maximum), 0.0, score == MASKED);
        maximum = new_maximum;
        sum = sum * keep + reduce_sum(lane, weight);
        weights[lane] = weight;
        workgroupBarrier();
        value *= keep;
        let column = head * D_VALUE + min(d, D_VALUE - 1u);
        for (var i = 0u; i < min(LANES, count - first); i++) {
            let at = value_start(sentence, first + i) + column;
            value = fma(weights[i], v[at / 4u][at % 4u], value);
        }
        workgroupBarrier();
    }

    let start = context_start(sentence, query);
    if (d < D_VALUE) {
        context[start + head * D_VALUE + d] = select(0.0, value / sum, sum > 0.0);
    }
    // padding of the row
    let padding = p.heads * D_VALUE + d;
    if (head == p.heads - 1u && padding < out_stride()) {
        context[start + padding] = 0.0;
    }
}
