// The bindings of a search's output layer, which notes the same of each panel of 64 logits as vocabulary_chunks.wgsl.
// uses: `sums` of matvec_split.wgsl or matvec_4rows_split.wgsl; shared/linear.wgsl, shared/bans.wgsl,
// shared/search.wgsl, shared/candidate.wgsl, shared/masked.wgsl
override SUM_BANNED: bool = true;  // whether banned tokens count in maximum and sum

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

// Notes of four outputs, in `sums`: the best allowed one, its place in the panel, the maximum, and the sum of
// exponentials relative to it.
fn note_quad(at: u32, row: u32, part_quad: u32, value: vec4<f32>) {
    let list = ban_list(min(row, p.rows - 1u));
    let first_token = 4u * (p.first_quad + part_quad);
    var note = vec4(MASKED, 0.0, MASKED, 0.0);
    if (part_quad < p.part_quads) {
        for (var i = 0u; i < 4u && first_token + i < p.outputs; i++) {
            let banned = is_banned(list, first_token + i);
            if (!banned && value[i] > note.x) {
                note.x = value[i];
                note.y = f32(first_token % 64u + i);
            }
            if (!banned || SUM_BANNED) {
                note.z = max(note.z, value[i]);
            }
        }
        for (var i = 0u; i < 4u && first_token + i < p.outputs; i++) {
            if (SUM_BANNED || !is_banned(list, first_token + i)) {
                note.w += exp(value[i] - note.z);
            }
        }
    }
    sums[at] = note;
}

// Joins the sixteen notes from `first` on to the panel's. All lanes must call it.
fn note_panel(first: u32, row: u32, panel: u32, notes: bool) {
    workgroupBarrier();
    if (!notes || row >= p.rows) {
        return;
    }
    var panel_note = sums[first];
    for (var i = 1u; i < 16u; i++) {
        let note = sums[first + i];
        if (note.x > panel_note.x) {
            panel_note.x = note.x;
            panel_note.y = note.y;
        }
        panel_note.z = max(panel_note.z, note.z);
    }
    panel_note.w = 0.0;
    for (var i = 0u; i < 16u; i++) {
        let note = sums[first + i];
        panel_note.w += note.w * exp(note.z - panel_note.z);
    }
    let panel_of_row = p.first_quad / 16u + panel;
    let at = 4u * (row * ((p.outputs + 63u) / 64u) + panel_of_row);
    chunks[at] = bitcast<u32>(panel_note.x);
    chunks[at + 1u] = select(64u * panel_of_row + u32(panel_note.y), 0u, panel_note.x == MASKED);
    chunks[at + 2u] = bitcast<u32>(panel_note.z);
    chunks[at + 3u] = bitcast<u32>(panel_note.w);
}
