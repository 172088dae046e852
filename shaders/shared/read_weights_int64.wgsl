// The same as shared/read_weights.wgsl with integers of 64 bits, where there are any: two blocks take as many readings as one.
@group(0) @binding(1) var<storage, read> weight: array<vec4<u64>>;

fn block_at(block: u32) -> vec4<u32> {
    let two = two_blocks_at(block);
    return select(two[0], two[1], block % 2u == 1u);
}

// A block of even number, and the one after it.
fn two_blocks_at(block: u32) -> array<vec4<u32>, 2> {
    let words = weight[block / 2u];
    let low = vec4<u32>(words);
    let high = vec4<u32>(words >> vec4(32u));
    return array(vec4(low.x, high.x, low.y, high.y), vec4(low.z, high.z, low.w, high.w));
}
