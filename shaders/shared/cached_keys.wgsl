// The keys where they are, without workgroup memory.
// uses: shared/head_quads.wgsl

fn key4(start: u32, d: u32) -> vec4<f32> {
    return cached_key4(start, d);
}
