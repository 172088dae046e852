// Starts the list of bans of each row with that of its sentence. One word per invocation.
// uses: shared/bans.wgsl, shared/search.wgsl, shared/grid.wgsl

struct Params {
    rows: u32,
    ban_words: u32,  // words per list
    beams: u32,      // rows per sentence
    block: u32,      // words per sentence in `search`
}

@group(0) @binding(0) var<storage, read>       search: array<u32>;    // see shared/search.wgsl
@group(0) @binding(1) var<storage, read>       bans: array<u32>;      // see shared/bans.wgsl
@group(0) @binding(2) var<storage, read_write> row_bans: array<u32>;  // [rows, ban_words]
@group(1) @binding(0) var<uniform> p: Params;

const LANES: u32 = 32u;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_workgroup(workgroup, workgroups) * LANES + lane;
    if (index >= p.rows * p.ban_words) {
        return;
    }
    row_bans[index] = bans[ban_list_of_sentence(index / p.ban_words / p.beams) + index % p.ban_words];
}
