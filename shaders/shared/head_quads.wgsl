// Elements of a query and of a key of one head, in blocks of sixteen as a matrix.
// uses: what attention.wgsl, cached_attention.wgsl and attention_weights.wgsl define

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

// Sixteen elements of a key.
fn key16(start: u32, d: u32) -> mat4x4<f32> {
    return mat4x4(key4(start, d), key4(start, d + 4u), key4(start, d + 8u), key4(start, d + 12u));
}

// Four elements of a head, one read if heads start at a multiple of four; beyond the end, the last one again.
fn cached_key4(start: u32, d: u32) -> vec4<f32> {
    if (ALIGNED) {
        return k[(start + min(d, D_HEAD - 4u)) / 4u];
    }
    let i = start + min(vec4(d) + vec4(0u, 1u, 2u, 3u), vec4(D_HEAD - 1u));
    return vec4(k[i.x / 4u][i.x % 4u], k[i.y / 4u][i.y % 4u], k[i.z / 4u][i.z % 4u], k[i.w / 4u][i.w % 4u]);
}
