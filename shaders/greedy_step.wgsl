// One step of greedy search: each sentence takes the best or the forced token of its row. HF GenerationMixin._sample;
// twin of decode/sample.rs.
// uses: shared/row_by_invocation.wgsl or shared/row_by_workgroup.wgsl, shared/search.wgsl, shared/continue_row.wgsl,
// shared/candidate.wgsl, shared/masked.wgsl, shared/grid.wgsl

struct Params {
    rows: u32,            // one per sentence
    chunks: u32,          // per row
    candidates: u32,      // 1
    block: u32,           // words per sentence in `search`
    capacity: u32,        // slots per row
    ring: u32,            // capacity of the record, steps
    first_position: u32,  // row of the position table
    pad: u32,             // token whose position is its id; NO_TOKEN for none
}

@group(0) @binding(0) var<storage, read>       chunks: array<u32>;       // see vocabulary_chunks.wgsl
@group(0) @binding(1) var<storage, read_write> search: array<u32>;       // [sentences, block]
@group(0) @binding(2) var<storage, read_write> tokens: array<u32>;       // [rows]
@group(0) @binding(3) var<storage, read_write> positions: array<u32>;    // [rows]
@group(0) @binding(4) var<storage, read_write> key_counts: array<u32>;   // [rows]
@group(0) @binding(5) var<storage, read_write> cache_slots: array<u32>;  // [rows]
@group(0) @binding(6) var<storage, read_write> slot_tokens: array<u32>;  // [rows * capacity]: token of each slot
@group(0) @binding(7) var<storage, read_write> record: array<u32>;       // [ring, rows, 2 * candidates + 1]
@group(1) @binding(0) var<uniform> p: Params;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = row_of(flat_workgroup(workgroup, workgroups), lane);
    if (row >= p.rows) {
        return;
    }
    let best = best_of_row(row, lane, zero(workgroup));
    let origin = log_sum_exp_of_row(row, lane, zero(workgroup));
    let block = row * p.block;
    if (!writes(lane) || search[block + DONE] != 0u) {
        return;
    }
    let is_none = best.value == MASKED;
    let at = record_of(block, row);
    record[at] = bitcast<u32>(select(best.value - origin.x, MASKED, is_none) - origin.y);
    record[at + 1u] = select(best.token, NO_TOKEN, is_none);
    record[at + 2u] = tokens[row];
    search[block + CLOCK] += 1u;

    let length = search[block + GENERATED] + 1u;
    let forced = forced_token(block, length);
    // if every token is banned, the first one: as argmax over equal scores
    let chosen = select(select(best.token, 0u, is_none), forced, forced != NO_TOKEN);
    search[block + GENERATED] = length;
    if (length >= search[block + MAX_NEW] || is_end(block, chosen, zero(workgroup))) {
        search[block + DONE] = 1u;
        return;
    }
    continue_row(block, row, chosen);
}
