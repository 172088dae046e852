// log Σ exp of a row of logits, from the maxima and sums of its chunks in the binding `statistics`; as two terms, the
// maximum and the log of the sum relative to it, because a score that subtracts them in turn keeps its last bits.
// uses: shared/masked.wgsl
fn log_sum_exp(row: u32) -> vec2<f32> {
    let start = row * p.chunks * p.statistics_stride;
    var maximum = MASKED;
    for (var chunk = 0u; chunk < p.chunks; chunk++) {
        maximum = max(maximum, bitcast<f32>(statistics[start + chunk * p.statistics_stride]));
    }
    var sum = 0.0;
    for (var chunk = 0u; chunk < p.chunks; chunk++) {
        let at = start + chunk * p.statistics_stride;
        sum += bitcast<f32>(statistics[at + 1u]) * exp(bitcast<f32>(statistics[at]) - maximum);
    }
    return vec2<f32>(maximum, log(sum));
}
