// The gradient of the distance bias of attention over ranges: bias_gradient[row, head] += Σ dS over the pairs at the
// row's distance. One workgroup per element: a lane has every 64th query.
// uses: shared/ranged_attention_gradient.wgsl, shared/ranged_attention.wgsl, shared/distance_bias.wgsl,
// shared/random_words.wgsl, shared/philox.wgsl, shared/masked.wgsl, shared/reduce.wgsl, shared/grid.wgsl

@group(0) @binding(7) var<storage, read_write> bias_gradient: array<f32>;  // [2 * reach + 1, heads]

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let group = flat_workgroup(workgroup, workgroups);
    let head = group % p.heads;
    let bias_row = group / p.heads;
    if (bias_row > 2u * p.reach) {
        return;
    }
    let distance = i32(bias_row) - i32(p.reach);
    var sum = 0.0;
    for (var query = zero(workgroup) + lane; query < p.q_rows; query += LANES) {
        let range = range_of(query, p.key_rows);
        // the first and the last row have all keys beyond
        let at = i32(query) + distance;
        let first = select(max(at, i32(range.x)), i32(range.x), bias_row == 0u);
        let end = select(min(at + 1, i32(range.y)), i32(range.y), bias_row == 2u * p.reach);
        for (var key = first; key < end; key++) {
            let row = u32(key);
            var product = vec4(0.0);
            for (var d = 0u; d < D_HEAD; d += 16u) {
                for (var i = d; i < d + 16u; i += 4u) {
                    product = fma(query4(query, head, i), key4(row, head, i), product);
                }
            }
            var value_product = vec4(0.0);
            for (var d = 0u; d < D_VALUE; d += 16u) {
                for (var i = d; i < d + 16u; i += 4u) {
                    value_product = fma(context_gradient4(query, head, i), value4(row, head, i), value_product);
                }
            }
            let pair = pair_of(query, row, head, dot(product, vec4(1.0)), dot(value_product, vec4(1.0)));
            sum += pair.score_gradient;
        }
    }
    sum = reduce_sum(lane, sum);
    if (lane == 0u) {
        bias_gradient[bias_row * stride_of(p.heads) + head] += sum;
    }
}
