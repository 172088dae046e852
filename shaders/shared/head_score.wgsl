// The product of a query and a key of one head, in blocks of sixteen elements as a matrix. The query's first four
// blocks stay in registers. Heads up to 64 wide need no loop: lavapipe silently stops an invocation after 65,535
// iterations of all its loops.
// uses: shared/head_quads.wgsl

fn score_of(
    q0: mat4x4<f32>,
    q1: mat4x4<f32>,
    q2: mat4x4<f32>,
    q3: mat4x4<f32>,
    q_start: u32,
    k_start: u32,
) -> f32 {
    var score = dot16(q0, key16(k_start, 0u));
    if (D_HEAD > 16u) {
        score += dot16(q1, key16(k_start, 16u));
    }
    if (D_HEAD > 32u) {
        score += dot16(q2, key16(k_start, 32u));
    }
    if (D_HEAD > 48u) {
        score += dot16(q3, key16(k_start, 48u));
    }
    if (D_HEAD > 64u) {
        for (var d = 64u; d < D_HEAD; d += 16u) {
            score += dot16(query16(q_start, d), key16(k_start, d));
        }
    }
    return score;
}

fn dot16(a: mat4x4<f32>, b: mat4x4<f32>) -> f32 {
    return dot(a[0], b[0]) + dot(a[1], b[1]) + dot(a[2], b[2]) + dot(a[3], b[3]);
}
