// Banned tokens of a row: lists with one bit per token in the binding `bans`.
// uses: shared/search.wgsl; the bindings `bans` and `search`; p.ban_words, p.beams, p.block
override BANS: u32 = 0u;  // 0: none; 1: two lists for each sentence, the second while it may not end; 2: one for each row

// First word of a row's list.
fn ban_list(row: u32) -> u32 {
    if (BANS == 0u) {
        return 0u;
    }
    if (BANS == 2u) {
        return row * p.ban_words;
    }
    return ban_list_of_sentence(row / p.beams);
}

fn ban_list_of_sentence(sentence: u32) -> u32 {
    let block = sentence * p.block;
    let early = search[block + GENERATED] < search[block + MIN_NEW];
    return search[block + BAN_LISTS] + select(0u, p.ban_words, early);
}

fn is_banned(list: u32, token: u32) -> bool {
    if (BANS == 0u) {
        return false;
    }
    return ((bans[list + token / 32u] >> (token % 32u)) & 1u) == 1u;
}
