// What the kernels of a search do alike: they end sentences, keep a record for the host, and feed rows their next token.
// uses: shared/search.wgsl; what greedy_step.wgsl and beam_step.wgsl define

fn is_end(block: u32, token: u32, zero: u32) -> bool {
    for (var i = zero; i < search[block + END_COUNT]; i++) {
        if (search[block + ENDS + i] == token) {
            return true;
        }
    }
    return false;
}

// The token that must come as number `length`, whatever the scores say; or NO_TOKEN.
fn forced_token(block: u32, length: u32) -> u32 {
    if (length == search[block + MAX_NEW] && search[block + FORCED_LAST] != NO_TOKEN) {
        return search[block + FORCED_LAST];
    }
    return select(NO_TOKEN, search[block + FORCED_FIRST], length == 1u);
}

// Where the record of a row begins: values, tokens, and the token that the row was fed.
fn record_of(block: u32, row: u32) -> u32 {
    return (search[block + CLOCK] % p.ring * p.rows + row) * (2u * p.candidates + 1u);
}

// Has the row run on `token` in the next step.
fn continue_row(block: u32, row: u32, token: u32) {
    let before = min(search[block + HISTORY] + search[block + GENERATED], p.capacity - 1u);
    tokens[row] = token;
    positions[row] = select(before + p.first_position, p.pad, token == p.pad);
    key_counts[row] = before + 1u;
    cache_slots[row] = row * p.capacity + before;
    slot_tokens[row * p.capacity + before] = token;
}
