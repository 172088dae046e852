// The score v · tanh(q + k) of a query and a key of one head, but for the factor of v. Bahdanau et al. 2015, A.1.2. The
// query's first four blocks stay in registers; heads up to 64 wide need no loop, as in shared/head_score.wgsl.
// uses: shared/head_quads.wgsl

fn score_of(
    q0: mat4x4<f32>,
    q1: mat4x4<f32>,
    q2: mat4x4<f32>,
    q3: mat4x4<f32>,
    q_start: u32,
    k_start: u32,
) -> f32 {
    var score = tangents16(q0, k_start, 0u);
    if (D_HEAD > 16u) {
        score += tangents16(q1, k_start, 16u);
    }
    if (D_HEAD > 32u) {
        score += tangents16(q2, k_start, 32u);
    }
    if (D_HEAD > 48u) {
        score += tangents16(q3, k_start, 48u);
    }
    if (D_HEAD > 64u) {
        for (var d = 64u; d < D_HEAD; d += 16u) {
            score += tangents16(query16(q_start, d), k_start, d);
        }
    }
    return score;
}

fn tangents16(query: mat4x4<f32>, k_start: u32, d: u32) -> f32 {
    return tangents4(query[0], k_start, d) + tangents4(query[1], k_start, d + 4u)
        + tangents4(query[2], k_start, d + 8u) + tangents4(query[3], k_start, d + 12u);
}

// Nothing beyond the head's end. Bounded, because some drivers' tanh of a large number is NaN.
fn tangents4(query: vec4<f32>, k_start: u32, d: u32) -> f32 {
    let is_inside = vec4(d) + vec4(0u, 1u, 2u, 3u) < vec4(D_HEAD);
    let tangents = tanh(clamp(query + key4(k_start, d), vec4(-15.0), vec4(15.0)));
    return dot(tangents, select(vec4(0.0), vec4(1.0), is_inside));
}
