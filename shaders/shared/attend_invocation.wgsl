// softmax(scale * Q Kᵀ) V with an online softmax (Milakov & Gimelshein 2018), without barriers. An invocation has one
// query and 64 elements of a head. Its neighbours have the next queries, so that all read the same elements of a key; if there
// are few queries, they have the query's other heads. Sixteen elements at a time are held as a matrix.
// uses: shared/value_quads.wgsl, shared/head_score.wgsl or shared/additive_score.wgsl, shared/head_quads.wgsl, shared/cached_keys.wgsl,
// shared/distance_bias.wgsl, shared/masked.wgsl, shared/grid.wgsl, and what attention.wgsl and cached_attention.wgsl define

const LANES: u32 = 8u;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let queries = queries_of_sentence();
    let blocks = (D_VALUE + 63u) / 64u;
    let parts = p.heads * blocks;
    var index = flat_workgroup(workgroup, workgroups) * LANES + lane;
    let sentence = index / (queries * parts);
    index %= queries * parts;
    let many = queries >= LANES;
    let part = select(index % parts, index / queries, many);
    let query = select(index / parts, index % queries, many);
    let head = part / blocks;
    let first = part % blocks * 64u;
    if (sentence >= sentences()) {
        return;
    }
    let q_start = query_start(sentence, query) + head * D_HEAD;
    let q0 = query16(q_start, 0u);
    let q1 = query16(q_start, 16u);
    let q2 = query16(q_start, 32u);
    let q3 = query16(q_start, 48u);
    // only this invocation reads the head's new key and value in this launch
    if (has_own(sentence)) {
        append(sentence, head, 0u, 0u, 1u);
    }

    var maximum = MASKED;
    var sum = 0.0;
    var c0 = mat4x4<f32>();
    var c1 = mat4x4<f32>();
    var c2 = mat4x4<f32>();
    var c3 = mat4x4<f32>();
    let count = key_count(sentence, query);
    for (var key = zero(workgroup); key < count; key++) {
        var score = score_of(q0, q1, q2, q3, q_start, key_start(sentence, key) + head * D_HEAD) * p.scale;
        score = with_distance_bias(score, head, query_position(sentence, query), key);
        // no branch: it would save nothing if the lanes are a vector
        let visible = is_visible(sentence, key);
        score = select(MASKED, score, visible);
        let new_maximum = max(maximum, score);
        let keep = exp(maximum - new_maximum);
        let weight = select(0.0, exp(score - new_maximum), visible);
        maximum = new_maximum;
        sum = sum * keep + weight;
        let v_start = value_start(sentence, key) + head * D_VALUE;
        c0 = c0 * keep + value16(v_start, first) * weight;
        if (D_VALUE > 16u) {
            c1 = c1 * keep + value16(v_start, first + 16u) * weight;
        }
        if (D_VALUE > 32u) {
            c2 = c2 * keep + value16(v_start, first + 32u) * weight;
        }
        if (D_VALUE > 48u) {
            c3 = c3 * keep + value16(v_start, first + 48u) * weight;
        }
    }

    let factor = select(0.0, 1.0 / sum, sum > 0.0);
    let start = context_start(sentence, query) + head * D_VALUE;
    store16(start, first, c0 * factor);
    if (D_VALUE > 16u) {
        store16(start, first + 16u, c1 * factor);
    }
    if (D_VALUE > 32u) {
        store16(start, first + 32u, c2 * factor);
    }
    if (D_VALUE > 48u) {
        store16(start, first + 48u, c3 * factor);
    }
    // padding of the row
    if (head == p.heads - 1u && first == 0u) {
        for (var d = zero(workgroup) + p.heads * D_VALUE; d < out_stride(); d++) {
            context[context_start(sentence, query) + d] = 0.0;
        }
    }
}

fn store4(start: u32, d: u32, value: vec4<f32>) {
    if (d < D_VALUE) {
        context[start + d] = value.x;
    }
    if (d + 1u < D_VALUE) {
        context[start + d + 1u] = value.y;
    }
    if (d + 2u < D_VALUE) {
        context[start + d + 2u] = value.z;
    }
    if (d + 3u < D_VALUE) {
        context[start + d + 3u] = value.w;
    }
}

fn store16(start: u32, d: u32, value: mat4x4<f32>) {
    store4(start, d, value[0]);
    store4(start, d + 4u, value[1]);
    store4(start, d + 8u, value[2]);
    store4(start, d + 12u, value[3]);
}
