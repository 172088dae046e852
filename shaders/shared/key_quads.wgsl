// Sixteen elements of a key.
// uses: what attention.wgsl, cached_attention.wgsl and attention_weights.wgsl define
fn key16(start: u32, d: u32) -> mat4x4<f32> {
    return mat4x4(key4(start, d), key4(start, d + 4u), key4(start, d + 8u), key4(start, d + 12u));
}

// Four elements of a head, in one piece where heads start at a multiple of four; the last one again beyond its end.
fn key4(start: u32, d: u32) -> vec4<f32> {
    if (ALIGNED) {
        return k[(start + min(d, D_HEAD - 4u)) / 4u];
    }
    let i = start + min(vec4(d) + vec4(0u, 1u, 2u, 3u), vec4(D_HEAD - 1u));
    return vec4(k[i.x / 4u][i.x % 4u], k[i.y / 4u][i.y % 4u], k[i.z / 4u][i.z % 4u], k[i.w / 4u][i.w % 4u]);
}
