// Bans tokens that would repeat an n-gram of the row (HF NoRepeatNGramLogitsProcessor) or complete a banned phrase (HF
// NoBadWordsLogitsProcessor, phrases of several tokens). One n-gram or phrase per invocation.
// uses: shared/columns.wgsl, shared/search.wgsl, shared/grid.wgsl

struct Params {
    rows: u32,
    phrases: u32,    // per sentence, at most
    ban_words: u32,  // words per list
    beams: u32,      // rows per sentence
    block: u32,      // words per sentence in `search`
    capacity: u32,   // slots per row
    vocabulary: u32,
}

@group(0) @binding(0) var<storage, read>       search: array<u32>;       // see shared/search.wgsl
@group(0) @binding(1) var<storage, read>       slots: array<u32>;        // [rows, capacity]
@group(0) @binding(2) var<storage, read>       slot_tokens: array<u32>;  // [rows * capacity]
@group(0) @binding(3) var<storage, read>       phrases: array<u32>;      // first token and length of each; then tokens
@group(0) @binding(4) var<storage, read>       columns: array<u32>;      // see shared/columns.wgsl
@group(0) @binding(5) var<storage, read_write> row_bans: array<atomic<u32>>;  // [rows, ban_words]
@group(1) @binding(0) var<uniform> p: Params;

const LANES: u32 = 32u;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_workgroup(workgroup, workgroups) * LANES + lane;
    let jobs = p.capacity + p.phrases;
    let row = index / jobs;
    let job = index % jobs;
    if (row >= p.rows) {
        return;
    }
    let block = row / p.beams * p.block;
    if (search[block + DONE] != 0u) {
        return;
    }
    let length = search[block + HISTORY] + search[block + GENERATED] + 1u;
    if (job < p.capacity) {
        let size = search[block + NGRAM];
        if (size == 0u || job + size > length) {
            return;
        }
        for (var i = zero(workgroup); i + 1u < size; i++) {
            if (history(row, job + i) != history(row, length + 1u - size + i)) {
                return;
            }
        }
        ban(row, history(row, job + size - 1u), zero(workgroup));
        return;
    }
    let phrase = job - p.capacity;
    if (phrase >= search[block + PHRASE_COUNT]) {
        return;
    }
    let entry = search[block + PHRASES] + 2u * phrase;
    let first = phrases[entry];
    let before = phrases[entry + 1u] - 1u;  // its tokens, without the last
    if (before > length) {
        return;
    }
    for (var i = zero(workgroup); i < before; i++) {
        if (phrases[first + i] != history(row, length - before + i)) {
            return;
        }
    }
    ban(row, phrases[first + before], zero(workgroup));
}

fn history(row: u32, position: u32) -> u32 {
    return slot_tokens[slots[row * p.capacity + position]];
}

fn ban(row: u32, token: u32, zero: u32) {
    let column = column_of(row / p.beams, token, zero);
    if (column < p.vocabulary) {
        atomicOr(&row_bans[row * p.ban_words + column / 32u], 1u << (column % 32u));
    }
}
