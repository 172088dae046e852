// log Σ exp of a row of logits, from the bests and sums of its chunks in the binding `chunks`; as two terms, the maximum
// and the log of the sum relative to it, because a score that subtracts them in turn keeps its last bits.
// uses: shared/masked.wgsl; `zero`: see shared/grid.wgsl
fn log_sum_exp(row: u32, zero: u32) -> vec2<f32> {
    let start = 3u * row * p.chunks;
    var maximum = MASKED;
    for (var chunk = zero; chunk < p.chunks; chunk++) {
        maximum = max(maximum, bitcast<f32>(chunks[start + 3u * chunk]));
    }
    var sum = 0.0;
    for (var chunk = zero; chunk < p.chunks; chunk++) {
        let at = start + 3u * chunk;
        sum += bitcast<f32>(chunks[at + 2u]) * exp(bitcast<f32>(chunks[at]) - maximum);
    }
    return vec2<f32>(maximum, log(sum));
}
