// log Σ exp of a row of logits, from its chunks' maxima and sums in the binding `chunks`. Two terms, the maximum and
// the log of the relative sum: a score that subtracts them in turn keeps its last bits.
// uses: shared/masked.wgsl; `zero`: see shared/grid.wgsl
fn log_sum_exp(row: u32, zero: u32) -> vec2<f32> {
    let start = 4u * row * p.chunks;
    var maximum = MASKED;
    for (var chunk = zero; chunk < p.chunks; chunk++) {
        maximum = max(maximum, bitcast<f32>(chunks[start + 4u * chunk + 2u]));
    }
    var sum = 0.0;
    for (var chunk = zero; chunk < p.chunks; chunk++) {
        let at = start + 4u * chunk;
        sum += bitcast<f32>(chunks[at + 3u]) * exp(bitcast<f32>(chunks[at + 2u]) - maximum);
    }
    // a row with only banned tokens has no sum
    return vec2<f32>(maximum, log(select(sum, 1.0, sum == 0.0)));
}
