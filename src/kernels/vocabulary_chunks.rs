//! What is known of each part of a row of logits: its best token, and the sum of its exponentials relative to its maximum.
//! Whoever wants the best tokens of the row, or its log Σ exp, then has few numbers to look at.

use super::bans::BanParams;
use super::search_state::HistoryEdits;
use super::{Access, AdapterClass, Dispatch, Kernel, PANEL, fold, stride};

/// One invocation per chunk of each row.
pub static VOCABULARY_CHUNKS: Kernel = Kernel {
    name: "vocabulary_chunks",
    wgsl: wgsl!("vocabulary_chunks" + "bans" + "search" + "candidate" + "masked" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Read, Access::Write],
    params: VocabularyChunksParams::FIELDS,
};

params! {
    /// Group 1 of `vocabulary_chunks.wgsl`.
    pub struct VocabularyChunksParams {
        /// Rows of logits.
        pub rows: u32,
        /// Elements of a row.
        pub vocabulary: u32,
        /// Between rows, elements.
        pub logits_stride: u32,
        /// Chunks of a row.
        pub chunks: u32,
        /// From the first token of a chunk to that of the next one.
        pub chunk_step: u32,
        /// From a token of a chunk to its next one.
        pub token_step: u32,
        /// From a chunk's first token to where it ends.
        pub reach: u32,
        /// Words of a list of bans.
        pub ban_words: u32,
        /// Rows of a sentence.
        pub beams: u32,
        /// Words of a sentence's search.
        pub block: u32,
    }
}

impl VocabularyChunksParams {
    /// Whether each chunk is a panel of the output projection.
    pub(super) fn are_of_panels(&self) -> bool {
        (self.chunk_step, self.token_step, self.reach) == (PANEL as u32, 1, PANEL as u32)
    }
}

/// How a row of logits is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunks {
    /// Chunks of a row.
    pub count: usize,
    chunk_step: usize,
    token_step: usize,
    reach: usize,
}

impl Chunks {
    /// √vocabulary of them, chunk c with the tokens c, c + count, c + 2 · count …: looking for the best chunk is as much work
    /// as looking through one.
    pub fn strided(vocabulary: usize) -> Self {
        let count = vocabulary.isqrt().max(1);
        Self { count, chunk_step: 1, token_step: count, reach: vocabulary }
    }

    /// A panel of the output projection each, so that the workgroup that computes a panel can look through it.
    pub fn panels(vocabulary: usize) -> Self {
        Self { count: vocabulary.div_ceil(PANEL).max(1), chunk_step: PANEL, token_step: 1, reach: PANEL }
    }

    /// How a selection divides its rows.
    ///
    /// | software | hardware |
    /// |---|---|
    /// | √vocabulary chunks | panels of 64 |
    pub fn of(vocabulary: usize, class: AdapterClass) -> Self {
        match class.is_software() {
            true => Self::strided(vocabulary),
            false => Self::panels(vocabulary),
        }
    }
}

/// Elements of the buffer for the chunks of any adapter class.
pub(super) fn chunk_elements(rows: usize, vocabulary: usize) -> usize {
    rows * Chunks::strided(vocabulary).count.max(Chunks::panels(vocabulary).count) * 4
}

/// Which tokens a chunk's maximum and sum are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sums {
    /// All of them.
    All,
    /// Those that are not banned.
    Allowed,
    /// They stay what they are: of the logits before they were edited.
    Kept,
}

/// The launch of [`VOCABULARY_CHUNKS`].
///
/// * storage: logits `[rows, vocabulary]`, bans, search, chunks u32 `[rows, chunks, 4]` (best value, its token, maximum,
///   sum)
pub(super) fn dispatch(
    (rows, vocabulary): (usize, usize),
    chunks: Chunks,
    history: Option<HistoryEdits>,
    sums: Sums,
) -> Dispatch {
    let bans = BanParams::new(vocabulary, history);
    let params = VocabularyChunksParams {
        rows: rows as u32,
        vocabulary: vocabulary as u32,
        logits_stride: stride(vocabulary) as u32,
        chunks: chunks.count as u32,
        chunk_step: chunks.chunk_step as u32,
        token_step: chunks.token_step as u32,
        reach: chunks.reach as u32,
        ban_words: bans.words,
        beams: bans.beams,
        block: bans.block,
    };
    let constants = vec![
        ("BANS", bans.kind),
        ("SUM_BANNED", f64::from(sums == Sums::All)),
        ("KEEPS_SUMS", f64::from(sums == Sums::Kept)),
    ];
    Dispatch::new(&VOCABULARY_CHUNKS, constants, &params, fold(rows * chunks.count, 32))
}
