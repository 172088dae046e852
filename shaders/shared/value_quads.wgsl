// Sixteen elements of a value, as those of a key in shared/head_quads.wgsl.
// uses: what attention.wgsl and cached_attention.wgsl define
fn value16(start: u32, d: u32) -> mat4x4<f32> {
    return mat4x4(value4(start, d), value4(start, d + 4u), value4(start, d + 8u), value4(start, d + 12u));
}

fn value4(start: u32, d: u32) -> vec4<f32> {
    if (ALIGNED) {
        return v[(start + min(d, D_VALUE - 4u)) / 4u];
    }
    let i = start + min(vec4(d) + vec4(0u, 1u, 2u, 3u), vec4(D_VALUE - 1u));
    return vec4(v[i.x / 4u][i.x % 4u], v[i.y / 4u][i.y % 4u], v[i.z / 4u][i.z % 4u], v[i.w / 4u][i.w % 4u]);
}
