// A piece of what sum_blocks.wgsl reads: four words.
@group(0) @binding(0) var<storage, read> data: array<vec4<u32>>;  // [turns * 4 * invocations]

fn data_at(piece: u32) -> vec4<u32> {
    return data[piece];
}
