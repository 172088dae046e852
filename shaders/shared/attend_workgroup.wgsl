// softmax(scale * Q Kᵀ) V with an online softmax (Milakov & Gimelshein 2018). A workgroup has one query and 64 elements
// of a head. It takes 64 keys at a time: four lanes score a key; then sixteen lanes sum the values of every sixteenth
// key, four elements each, which they read while the others compute the weights.
// uses: shared/value_quads.wgsl, shared/context_quad.wgsl, shared/distance_bias.wgsl, shared/masked.wgsl, shared/grid.wgsl, and what
// attention.wgsl and cached_attention.wgsl define
const LANES: u32 = 256u;
const KEYS: u32 = 64u;
const COLUMNS: u32 = 16u;  // quads of the values, and groups of lanes

var<workgroup> products: array<f32, LANES>;       // [keys, 4]
var<workgroup> starts: array<u32, KEYS>;          // of the values
var<workgroup> scores: array<f32, KEYS>;
var<workgroup> maxima: array<f32, COLUMNS>;
var<workgroup> weights: array<f32, KEYS>;
var<workgroup> values: array<vec4<f32>, LANES>;   // [groups, columns]
var<workgroup> sums: array<f32, COLUMNS>;         // of a group's weights

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let blocks = (D_VALUE + 63u) / 64u;
    var group = flat_workgroup(workgroup, workgroups);
    let block = group % blocks;
    group /= blocks;
    let query = group % queries_of_sentence();
    group /= queries_of_sentence();
    let head = group % p.heads;
    // a surplus workgroup computes a part of the last sentence again
    let sentence = min(group / p.heads, sentences() - 1u);
    let q_start = query_start(sentence, query) + head * D_HEAD;
    let count = key_count(sentence, query);
    let position = query_position(sentence, query);
    let column = lane % COLUMNS;
    let of_group = lane / COLUMNS;
    let d = block * 64u + 4u * column;
    // the row's own key and value are not read from the cache, where not all lanes may see them yet
    let has_own_key = has_own(sentence);
    if (has_own_key) {
        append(sentence, head, block, lane, LANES);
    }

    var maximum = MASKED;
    var sum = 0.0;
    var value = vec4(0.0);
    for (var first = zero(workgroup); first < count; first += KEYS) {
        let key = min(first + lane / 4u, count - 1u);
        var product = 0.0;
        if (has_own_key && key == count - 1u) {
            product = own_product(q_start, own_key_start(sentence, head), lane % 4u);
        } else {
            product = product_of(q_start, key_start(sentence, key) + head * D_HEAD, lane % 4u);
        }
        products[lane] = product;
        if (lane % 4u == 0u) {
            starts[lane / 4u] = value_start(sentence, key) + head * D_VALUE;
        }
        workgroupBarrier();

        // the values of this group's keys, which do not wait for the weights
        let v0 = value_of(sentence, head, first, of_group, count, has_own_key, d);
        let v1 = value_of(sentence, head, first, of_group + 16u, count, has_own_key, d);
        let v2 = value_of(sentence, head, first, of_group + 32u, count, has_own_key, d);
        let v3 = value_of(sentence, head, first, of_group + 48u, count, has_own_key, d);

        let own = lane % KEYS;
        let at = first + own;
        var score = MASKED;
        if (at < count && is_visible(sentence, at)) {
            let of_key = (products[4u * own] + products[4u * own + 1u])
                + (products[4u * own + 2u] + products[4u * own + 3u]);
            score = with_distance_bias(of_key * p.scale, head, position, at);
        }
        if (lane < KEYS) {
            scores[own] = score;
        }
        workgroupBarrier();
        if (lane < COLUMNS) {
            maxima[lane] = max(
                max(scores[lane], scores[lane + 16u]),
                max(scores[lane + 32u], scores[lane + 48u]),
            );
        }
        workgroupBarrier();
        var new_maximum = maximum;
        for (var i = 0u; i < COLUMNS; i++) {
            new_maximum = max(new_maximum, maxima[i]);
        }
        if (lane < KEYS) {
            weights[own] = select(exp(score - new_maximum), 0.0, score == MASKED);
        }
        let keep = exp(maximum - new_maximum);
        maximum = new_maximum;
        workgroupBarrier();
        let w0 = weights[of_group];
        let w1 = weights[of_group + 16u];
        let w2 = weights[of_group + 32u];
        let w3 = weights[of_group + 48u];
        sum = sum * keep + ((w0 + w1) + (w2 + w3));
        value = fma(vec4(w3), v3, fma(vec4(w2), v2, fma(vec4(w1), v1, fma(vec4(w0), v0, value * keep))));
        workgroupBarrier();  // before the next keys
    }

    values[lane] = value;
    if (column == 0u) {
        sums[of_group] = sum;
    }
    workgroupBarrier();
    if (lane >= COLUMNS) {
        return;
    }
    for (var i = 1u; i < COLUMNS; i++) {
        value += values[i * COLUMNS + lane];
    }
    sum = sums[0];
    for (var i = 1u; i < COLUMNS; i++) {
        sum += sums[i];
    }
    store_context(sentence, query, head, d, value, sum);
}

// A fourth of the product of the query and a key in the cache.
fn product_of(q_start: u32, k_start: u32, part: u32) -> f32 {
    var product = 0.0;
    if (ALIGNED) {
        for (var i = part; i < D_HEAD / 4u; i += 4u) {
            product += dot(q[q_start / 4u + i], k[k_start / 4u + i]);
        }
    } else {
        for (var i = part; i < D_HEAD; i += 4u) {
            let a = q_start + i;
            let b = k_start + i;
            product = fma(q[a / 4u][a % 4u], k[b / 4u][b % 4u], product);
        }
    }
    return product;
}

// The same of the row's own key, which is beside the query. Only aligned heads have it.
fn own_product(q_start: u32, k_start: u32, part: u32) -> f32 {
    var product = 0.0;
    for (var i = part; i < D_HEAD / 4u; i += 4u) {
        product += dot(q[q_start / 4u + i], q[k_start / 4u + i]);
    }
    return product;
}

// Four elements of a key's value; of the last key's beyond the end.
fn value_of(
    sentence: u32,
    head: u32,
    first: u32,
    key: u32,
    count: u32,
    has_own_key: bool,
    d: u32,
) -> vec4<f32> {
    if (has_own_key && first + key >= count - 1u) {
        return q[(own_value_start(sentence, head) + min(d, D_VALUE - 4u)) / 4u];
    }
    return value4(starts[key], d);
}
