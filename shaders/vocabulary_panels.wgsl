// As vocabulary_chunks.wgsl, for chunks of 64 neighbouring tokens on GPUs: sixteen lanes read a panel together.
// uses: shared/vocabulary_notes.wgsl, shared/panel_notes.wgsl, shared/bans.wgsl, shared/search.wgsl,
// shared/candidate.wgsl, shared/masked.wgsl, shared/grid.wgsl

@group(0) @binding(0) var<storage, read>       logits: array<vec4<f32>>;  // [rows, vocabulary]

const LANES: u32 = 256u;

var<workgroup> sums: array<vec4<f32>, LANES>;  // notes: [16 panels, 16 quads]

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_workgroup(workgroup, workgroups) * 16u + lane / 16u;
    let row = min(index / p.chunks, p.rows - 1u);
    let panel = index % p.chunks;
    let first_token = 64u * panel + 4u * (lane % 16u);
    let is_inside = first_token < p.vocabulary;
    let count = select(0u, p.vocabulary - first_token, is_inside);
    let at = (row * p.logits_stride + select(0u, first_token, is_inside)) / 4u;
    sums[lane] = note_of(logits[at], row, first_token, count);
    workgroupBarrier();
    if (lane % 16u != 0u || index >= p.rows * p.chunks) {
        return;
    }
    let note = joined_notes(lane);
    chunks[4u * index] = bitcast<u32>(note.x);
    chunks[4u * index + 1u] = token_of(note, panel);
    if (!KEEPS_SUMS) {
        chunks[4u * index + 2u] = bitcast<u32>(note.z);
        chunks[4u * index + 3u] = bitcast<u32>(note.w);
    }
}
