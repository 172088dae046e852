// Four elements of a query's context.
// uses: what attention.wgsl and cached_attention.wgsl define

// Stores value / sum, from element `d` of the head on; after the last head the padding of the row.
fn store_context(sentence: u32, query: u32, head: u32, d: u32, value: vec4<f32>, sum: f32) {
    let start = context_start(sentence, query);
    for (var i = 0u; i < 4u; i++) {
        if (d + i < D_VALUE) {
            context[start + head * D_VALUE + d + i] = select(0.0, value[i] / sum, sum > 0.0);
        }
        let padding = p.heads * D_VALUE + d + i;
        if (head == p.heads - 1u && padding < out_stride()) {
            context[start + padding] = 0.0;
        }
    }
}
