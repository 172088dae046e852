// slots[row] = slots[parent of the row], for the tokens so far: reorders beams without copies of caches. One position
// of one sentence per invocation.
// uses: shared/search.wgsl, shared/grid.wgsl
override BEAMS: u32 = 4u;

struct Params {
    sentences: u32,
    block: u32,     // words per sentence in `search`
    parents: u32,   // first word of the parents in a block
    capacity: u32,  // slots per row
}

@group(0) @binding(0) var<storage, read>       search: array<u32>;  // [sentences, block]
@group(0) @binding(1) var<storage, read_write> slots: array<u32>;   // [sentences * BEAMS, capacity]
@group(1) @binding(0) var<uniform> p: Params;

const LANES: u32 = 32u;
const MAX_BEAMS: u32 = 16u;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_workgroup(workgroup, workgroups) * LANES + lane;
    let sentence = index / p.capacity;
    let position = index % p.capacity;
    if (sentence >= p.sentences) {
        return;
    }
    let block = sentence * p.block;
    if (search[block + DONE] != 0u || position >= search[block + HISTORY] + search[block + GENERATED]) {
        return;
    }
    let first = sentence * BEAMS * p.capacity + position;
    var before: array<u32, MAX_BEAMS>;
    for (var beam = zero(workgroup); beam < BEAMS; beam++) {
        before[beam] = slots[first + search[block + p.parents + beam] * p.capacity];
    }
    for (var beam = zero(workgroup); beam < BEAMS; beam++) {
        slots[first + beam * p.capacity] = before[beam];
    }
}
