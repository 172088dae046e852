//! Banned tokens: one bit per token, which a selection skips. Single tokens and early ends are listed once for a batch;
//! repeated n-grams and phrases are listed for each row at each step.

use super::search_state::HistoryEdits;
use super::{Access, Dispatch, Kernel, fold};

/// One invocation per word of each row's list.
pub static RESET_BANS: Kernel = Kernel {
    name: "reset_bans",
    wgsl: wgsl!("reset_bans" + "bans" + "search" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Write],
    params: ResetBansParams::FIELDS,
};

/// One invocation per n-gram and phrase of each row.
pub static BAN_REPEATS: Kernel = Kernel {
    name: "ban_repeats",
    wgsl: wgsl!("ban_repeats" + "columns" + "search" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Read, Access::Read, Access::Read, Access::Write],
    params: BanRepeatsParams::FIELDS,
};

params! {
    /// Group 1 of `reset_bans.wgsl`.
    pub struct ResetBansParams {
        /// Rows.
        pub rows: u32,
        /// Words per list of bans.
        pub ban_words: u32,
        /// Rows per sentence.
        pub beams: u32,
        /// Words of the state of a sentence.
        pub block: u32,
    }
}

params! {
    /// Group 1 of `ban_repeats.wgsl`.
    pub struct BanRepeatsParams {
        /// Rows.
        pub rows: u32,
        /// Maximum banned phrases of a sentence.
        pub phrases: u32,
        /// Words per list of bans.
        pub ban_words: u32,
        /// Rows per sentence.
        pub beams: u32,
        /// Words of the state of a sentence.
        pub block: u32,
        /// Cache slots per row.
        pub capacity: u32,
        /// Elements of a row of logits.
        pub vocabulary: u32,
    }
}

/// Storage of [`RESET_BANS`]: search, bans, bans of the rows.
pub(super) fn reset_launch(rows: usize, vocabulary: usize, history: &HistoryEdits) -> Dispatch {
    let words = ban_words(vocabulary);
    let params = ResetBansParams {
        rows: rows as u32,
        ban_words: words as u32,
        beams: history.search.beams as u32,
        block: history.search.block() as u32,
    };
    Dispatch::new(&RESET_BANS, Vec::new(), &params, fold(rows * words, 32))
}

/// Storage of [`BAN_REPEATS`]: search, slots, their tokens, phrases, columns, bans of the rows.
pub(super) fn repeat_launch(rows: usize, vocabulary: usize, history: &HistoryEdits) -> Dispatch {
    let params = BanRepeatsParams {
        rows: rows as u32,
        phrases: history.phrases as u32,
        ban_words: ban_words(vocabulary) as u32,
        beams: history.search.beams as u32,
        block: history.search.block() as u32,
        capacity: history.search.capacity as u32,
        vocabulary: vocabulary as u32,
    };
    let jobs = history.search.capacity + history.phrases;
    let constants = vec![("HAS_COLUMNS", f64::from(history.columns))];
    Dispatch::new(&BAN_REPEATS, constants, &params, fold(rows * jobs, 32))
}

/// Words per list of bans.
pub fn ban_words(vocabulary: usize) -> usize {
    vocabulary.div_ceil(32)
}

pub(super) struct BanParams {
    pub kind: f64,
    pub words: u32,
    pub beams: u32,
    pub block: u32,
}

impl BanParams {
    pub fn new(vocabulary: usize, history: Option<HistoryEdits>) -> Self {
        let Some(history) = history else { return Self { kind: 0.0, words: 0, beams: 1, block: 0 } };
        Self {
            kind: match history {
                HistoryEdits { repeats: true, .. } => 2.0,
                HistoryEdits { bans: true, .. } => 1.0,
                _ => 0.0,
            },
            words: ban_words(vocabulary) as u32,
            beams: history.search.beams as u32,
            block: history.search.block() as u32,
        }
    }
}

/// Banned tokens and phrases in the device's format.
#[derive(Debug, Default)]
pub struct Bans {
    /// Two lists per sentence, one bit per token: tokens that are always banned, and tokens that are banned while the
    /// sentence may end. Equal sentences share their lists.
    pub lists: Vec<u32>,
    /// First word and length of each sentence's phrases, then the phrases.
    pub phrases: Vec<u32>,
}

impl Bans {
    /// Adds a sentence's lists of tokens; returns their first word.
    pub fn add_lists(&mut self, vocabulary: usize, always: &[u32], ends: &[u32]) -> usize {
        let words = ban_words(vocabulary);
        let first = self.lists.len();
        self.add_own_lists(vocabulary, always, ends);
        let added = &self.lists[first..];
        let known = self.lists[..first].chunks_exact(2 * words).position(|lists| lists == added);
        match known {
            None => first,
            Some(index) => {
                self.lists.truncate(first);
                index * 2 * words
            }
        }
    }

    /// As [`add_lists`](Self::add_lists), but does not share equal lists.
    pub fn add_own_lists(&mut self, vocabulary: usize, always: &[u32], ends: &[u32]) -> usize {
        let words = ban_words(vocabulary);
        let first = self.lists.len();
        self.lists.resize(first + 2 * words, 0);
        let (list, early) = self.lists[first..].split_at_mut(words);
        let ban = |list: &mut [u32], token: u32| list[token as usize / 32] |= 1 << (token % 32);
        always.iter().for_each(|&token| ban(list, token));
        always.iter().chain(ends).for_each(|&token| ban(early, token));
        first
    }

    /// Adds a sentence's phrases; returns the first word of their list.
    pub fn add_phrases<'a>(&mut self, phrases: impl ExactSizeIterator<Item = &'a [u32]> + Clone) -> usize {
        let first = self.phrases.len();
        let mut at = first + 2 * phrases.len();
        for phrase in phrases.clone() {
            self.phrases.extend([at as u32, phrase.len() as u32]);
            at += phrase.len();
        }
        phrases.for_each(|phrase| self.phrases.extend(phrase));
        first
    }
}
