// The product of a query and a key of one head, in blocks of sixteen elements as a matrix. The query's first four
// blocks stay in registers. Heads up to 64 wide need no loop: lavapipe silently stops an invocation after 65,535
// iterations of all its loops.
// uses: what attention.wgsl, cached_attention.wgsl and attention_weights.wgsl define

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

// Zeros beyond the head's end, so that the key's elements there do not count.
fn query4(start: u32, d: u32) -> vec4<f32> {
    let lanes = vec4(d) + vec4(0u, 1u, 2u, 3u);
    let i = start + min(lanes, vec4(D_HEAD - 1u));
    let value = vec4(q[i.x / 4u][i.x % 4u], q[i.y / 4u][i.y % 4u], q[i.z / 4u][i.z % 4u], q[i.w / 4u][i.w % 4u]);
    return select(vec4(0.0), value, lanes < vec4(D_HEAD));
}

fn query16(start: u32, d: u32) -> mat4x4<f32> {
    return mat4x4(query4(start, d), query4(start, d + 4u), query4(start, d + 8u), query4(start, d + 12u));
}

fn dot16(a: mat4x4<f32>, b: mat4x4<f32>) -> f32 {
    return dot(a[0], b[0]) + dot(a[1], b[1]) + dot(a[2], b[2]) + dot(a[3], b[3]);
}

// Sixteen elements of a key.
fn key16(start: u32, d: u32) -> mat4x4<f32> {
    return mat4x4(key4(start, d), key4(start, d + 4u), key4(start, d + 8u), key4(start, d + 12u));
}

// Four elements of a head, one read if heads start at a multiple of four; beyond the end, the last one again.
fn key4(start: u32, d: u32) -> vec4<f32> {
    if (ALIGNED) {
        return k[(start + min(d, D_HEAD - 4u)) / 4u];
    }
    let i = start + min(vec4(d) + vec4(0u, 1u, 2u, 3u), vec4(D_HEAD - 1u));
    return vec4(k[i.x / 4u][i.x % 4u], k[i.y / 4u][i.y % 4u], k[i.z / 4u][i.z % 4u], k[i.w / 4u][i.w % 4u]);
}
