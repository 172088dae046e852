// How weights are read: a block, which is 16 bytes, at a time. See panels.rs.
@group(0) @binding(1) var<storage, read> weight: array<vec4<u32>>;

fn block_at(block: u32) -> vec4<u32> {
    return weight[block];
}

// A block of even number, and the one after it.
fn two_blocks_at(block: u32) -> array<vec4<u32>, 2> {
    return array(weight[block], weight[block + 1u]);
}
