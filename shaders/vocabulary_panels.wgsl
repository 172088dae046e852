// As vocabulary_chunks.wgsl, for chunks of 64 neighbouring tokens on GPUs: sixteen lanes read a panel together.
// uses: shared/panel_notes.wgsl, shared/bans.wgsl, shared/search.wgsl, shared/candidate.wgsl, shared/masked.wgsl,
// shared/grid.wgsl
override KEEPS_SUMS: bool = false;  // whether maximum and sum stay those of the unedited logits

struct Params {
    rows: u32,
    vocabulary: u32,
    logits_stride: u32,
    chunks: u32,         // per row
    chunk_step: u32,     // distance of neighbouring chunks' first tokens
    token_step: u32,     // distance of neighbouring tokens of a chunk
    reach: u32,          // distance from a chunk's first token to its end
    ban_words: u32,      // words per list
    beams: u32,          // rows per sentence
    block: u32,          // words per sentence in `search`
}

@group(0) @binding(0) var<storage, read>       logits: array<vec4<f32>>;  // [rows, vocabulary]
@group(0) @binding(1) var<storage, read>       bans: array<u32>;    // see shared/bans.wgsl
@group(0) @binding(2) var<storage, read>       search: array<u32>;  // see shared/search.wgsl
@group(0) @binding(3) var<storage, read_write> chunks: array<u32>;  // [rows, chunks, 4]: best, its token, maximum, sum
@group(1) @binding(0) var<uniform> p: Params;

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
