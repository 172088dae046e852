// The keys of a tile in workgroup memory: read together, each read serves sixteen queries.
// uses: shared/attend_tile.wgsl, shared/head_quads.wgsl
const ROW: u32 = 17u;  // quads of a key, and one more, so that neighbouring keys are in different banks

var<workgroup> tile: array<vec4<f32>, 544>;  // [keys, ROW]

// Reads the keys from `first` on; the last key again beyond the end. Heads are 64 wide at most. All lanes must call it.
fn stage_keys(sentence: u32, head: u32, first: u32, count: u32, lane: u32) {
    for (var i = lane; i < KEYS * 16u; i += LANES) {
        let key = min(first + i / 16u, count - 1u);
        tile[i / 16u * ROW + i % 16u] = cached_key4(key_start(sentence, key) + head * D_HEAD, i % 16u * 4u);
    }
    workgroupBarrier();
}

// Start of a key of the tile, in elements.
fn staged_key(of_tile: u32) -> u32 {
    return of_tile * ROW * 4u;
}

// Four elements of a staged key.
fn key4(start: u32, d: u32) -> vec4<f32> {
    return tile[(start + d) / 4u];
}
