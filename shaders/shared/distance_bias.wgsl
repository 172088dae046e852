// Adds the table's bias for the head and the distance from query to key. Row `reach` is distance 0; keys beyond `reach`
// use the first or the last row. Raffel et al. 2020 (T5), section 2.1.
// uses: what attention.wgsl, cached_attention.wgsl and attention_weights.wgsl define
override HAS_DISTANCE_BIAS: bool = false;

fn with_distance_bias(score: f32, head: u32, query: u32, key: u32) -> f32 {
    if (HAS_DISTANCE_BIAS) {
        let reach = i32(p.reach);
        let row = u32(clamp(i32(key) - i32(query), -reach, reach) + reach);
        return score + distance_bias[row * ((p.heads + 3u) / 4u * 4u) + head];
    }
    return score;
}
