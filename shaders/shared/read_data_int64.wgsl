// A piece of what sum_blocks.wgsl reads, with integers of 64 bits: eight words, the odd ones added to the even ones.
@group(0) @binding(0) var<storage, read> data: array<vec4<u64>>;  // [turns * 4 * invocations]

fn data_at(piece: u32) -> vec4<u32> {
    let words = data[piece];
    return vec4<u32>(words) + vec4<u32>(words >> vec4(32u));
}
