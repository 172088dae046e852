// Common parts of search kernels: end sentences, keep a record for the host, feed rows their next token.
// uses: shared/search.wgsl; what greedy_step.wgsl and beam_step.wgsl define

fn is_end(block: u32, token: u32, zero: u32) -> bool {
    for (var i = zero; i < search[block + END_COUNT]; i++) {
        if (search[block + ENDS + i] == token) {
            return true;
        }
    }
    return false;
}

// The forced token at number `length`, or NO_TOKEN.
fn forced_token(block: u32, length: u32) -> u32 {
    if (length == search[block + MAX_NEW] && search[block + FORCED_LAST] != NO_TOKEN) {
        return search[block + FORCED_LAST];
    }
    return select(NO_TOKEN, search[block + FORCED_FIRST], length == 1u);
}

// First word of a row's record: values, tokens, and the row's input token.
fn record_of(block: u32, row: u32) -> u32 {
    return (search[block + CLOCK] % p.ring * p.rows + row) * (2u * p.candidates + 1u);
}

// Makes `token` the row's input of the next step.
fn continue_row(block: u32, row: u32, token: u32) {
    let before = min(search[block + HISTORY] + search[block + GENERATED], p.capacity - 1u);
    tokens[row] = token;
    positions[row] = select(before + p.first_position, p.pad, token == p.pad);
    key_counts[row] = before + 1u;
    cache_slots[row] = row * p.capacity + before;
    slot_tokens[row * p.capacity + before] = token;
}
