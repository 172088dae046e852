// Notes of panels of 64 logits: the best allowed one, its place in the panel, the maximum, and the sum of exponentials
// relative to it. First of four logits each, in `sums`, then of the panel.
// uses: `sums`; shared/bans.wgsl, shared/search.wgsl, shared/candidate.wgsl, shared/masked.wgsl
override SUM_BANNED: bool = true;  // whether banned tokens count in maximum and sum

// The note of the logits from `first_token` on, of which `count` are there.
fn note_of(value: vec4<f32>, row: u32, first_token: u32, count: u32) -> vec4<f32> {
    let list = ban_list(row);
    var note = vec4(MASKED, 0.0, MASKED, 0.0);
    for (var i = 0u; i < 4u && i < count; i++) {
        let banned = is_banned(list, first_token + i);
        if (!banned && value[i] > note.x) {
            note.x = value[i];
            note.y = f32(first_token % 64u + i);
        }
        if (!banned || SUM_BANNED) {
            note.z = max(note.z, value[i]);
        }
    }
    for (var i = 0u; i < 4u && i < count; i++) {
        if (SUM_BANNED || !is_banned(list, first_token + i)) {
            note.w += exp(value[i] - note.z);
        }
    }
    return note;
}

// The sixteen notes from `first` on as one.
fn joined_notes(first: u32) -> vec4<f32> {
    var joined = sums[first];
    for (var i = 1u; i < 16u; i++) {
        let note = sums[first + i];
        if (note.x > joined.x) {
            joined.x = note.x;
            joined.y = note.y;
        }
        joined.z = max(joined.z, note.z);
    }
    joined.w = 0.0;
    for (var i = 0u; i < 16u; i++) {
        let note = sums[first + i];
        joined.w += note.w * exp(note.z - joined.z);
    }
    return joined;
}

fn token_of(note: vec4<f32>, panel: u32) -> u32 {
    return select(64u * panel + u32(note.y), 0u, note.x == MASKED);
}
