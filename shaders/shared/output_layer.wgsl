// The bindings of a search's output layer, which notes the same of each panel of 64 logits as vocabulary_chunks.wgsl.
// uses: shared/split_sums.wgsl, shared/linear.wgsl, shared/panel_notes.wgsl, shared/bans.wgsl, shared/search.wgsl,
// shared/candidate.wgsl, shared/masked.wgsl

@group(0) @binding(3) var<storage, read>       bans: array<u32>;        // see shared/bans.wgsl
@group(0) @binding(4) var<storage, read>       search: array<u32>;      // see shared/search.wgsl
@group(0) @binding(5) var<storage, read_write> y: array<vec4<f32>>;     // [rows, outputs]
@group(0) @binding(6) var<storage, read_write> chunks: array<u32>;      // [rows, panels, 4]: see vocabulary_chunks.wgsl

fn joined(value: vec4<f32>, at: u32) -> vec4<f32> {
    return value;
}

fn statistics_of(starts: vec4<u32>, lane: u32) -> mat2x4<f32> {
    return mat2x4<f32>();
}

fn input(start: u32, quad: u32, mean: f32, factor: f32) -> vec4<f32> {
    return x[start + quad];
}

fn keep(row: u32, start: u32, lane: u32, mean: f32, factor: f32) {
}

// Notes four outputs in `sums`.
fn note_quad(at: u32, row: u32, part_quad: u32, value: vec4<f32>) {
    let first_token = 4u * (p.first_quad + part_quad);
    let is_inside = part_quad < p.part_quads && first_token < p.outputs;
    let count = select(0u, p.outputs - first_token, is_inside);
    sums[at] = note_of(value, min(row, p.rows - 1u), first_token, count);
}

// Joins the sixteen notes from `first` on to the panel's. All lanes must call it.
fn note_panel(first: u32, row: u32, panel: u32, notes: bool) {
    workgroupBarrier();
    if (!notes || row >= p.rows) {
        return;
    }
    let note = joined_notes(first);
    let panel_of_row = p.first_quad / 16u + panel;
    let at = 4u * (row * ((p.outputs + 63u) / 64u) + panel_of_row);
    chunks[at] = bitcast<u32>(note.x);
    chunks[at + 1u] = token_of(note, panel_of_row);
    chunks[at + 2u] = bitcast<u32>(note.z);
    chunks[at + 3u] = bitcast<u32>(note.w);
}
