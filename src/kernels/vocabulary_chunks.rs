//! Summaries of the chunks of a row of logits: the best token, and the sum of exponentials relative to the maximum. The
//! best tokens of a row and its log Σ exp then need few reads.

use super::bans::BanParams;
use super::search_state::HistoryEdits;
use super::{Access, AdapterClass, Dispatch, Kernel, PANEL, fold, stride};

/// One invocation per chunk of each row.
pub static VOCABULARY_CHUNKS: Kernel = Kernel {
    name: "vocabulary_chunks",
    wgsl: wgsl!(
        "vocabulary_chunks" + "vocabulary_notes" + "bans" + "search" + "candidate" + "masked" + "grid"
    ),
    storage: &[Access::Read, Access::Read, Access::Read, Access::Write],
    params: VocabularyChunksParams::FIELDS,
};

/// Sixteen lanes per chunk of 64 neighbouring tokens of each row.
pub static VOCABULARY_PANELS: Kernel = Kernel {
    name: "vocabulary_panels",
    wgsl: wgsl!(
        "vocabulary_panels"
            + "vocabulary_notes"
            + "panel_notes"
            + "bans"
            + "search"
            + "candidate"
            + "masked"
            + "grid"
    ),
    storage: VOCABULARY_CHUNKS.storage,
    params: VocabularyChunksParams::FIELDS,
};

params! {
    /// Group 1 of `vocabulary_chunks.wgsl` and `vocabulary_panels.wgsl`.
    pub struct VocabularyChunksParams {
        /// Rows of logits.
        pub rows: u32,
        /// Elements per row.
        pub vocabulary: u32,
        /// Row stride, elements.
        pub logits_stride: u32,
        /// Chunks per row.
        pub chunks: u32,
        /// Distance between the first tokens of neighbouring chunks.
        pub chunk_step: u32,
        /// Distance between neighbouring tokens of a chunk.
        pub token_step: u32,
        /// Distance from a chunk's first token to its end.
        pub reach: u32,
        /// Words per list of bans.
        pub ban_words: u32,
        /// Rows per sentence.
        pub beams: u32,
        /// Words of the state of a sentence.
        pub block: u32,
    }
}

impl VocabularyChunksParams {
    fn are_of_panels(&self) -> bool {
        (self.chunk_step, self.token_step, self.reach) == (PANEL as u32, 1, PANEL as u32)
    }
}

/// The division of a row of logits into chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunks {
    /// Chunks per row.
    pub count: usize,
    chunk_step: usize,
    token_step: usize,
    reach: usize,
}

impl Chunks {
    /// √vocabulary chunks, chunk c with the tokens c, c + count, c + 2 · count, …: to search the chunks costs as much
    /// as to search one of them.
    pub fn strided(vocabulary: usize) -> Self {
        let count = vocabulary.isqrt().max(1);
        Self { count, chunk_step: 1, token_step: count, reach: vocabulary }
    }

    /// One chunk per panel of the output projection, so that the panel's workgroup can summarize it.
    pub fn panels(vocabulary: usize) -> Self {
        Self { count: vocabulary.div_ceil(PANEL).max(1), chunk_step: PANEL, token_step: 1, reach: PANEL }
    }

    /// The division for a selection: √vocabulary chunks on software adapters, panels of 64 on hardware.
    pub fn of(vocabulary: usize, class: AdapterClass) -> Self {
        match class.is_software() {
            true => Self::strided(vocabulary),
            false => Self::panels(vocabulary),
        }
    }
}

/// Elements of the buffer for the chunks, for any adapter class.
pub(super) fn chunk_elements(rows: usize, vocabulary: usize) -> usize {
    rows * Chunks::strided(vocabulary).count.max(Chunks::panels(vocabulary).count) * 4
}

/// The tokens of a chunk's maximum and sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sums {
    /// All tokens.
    All,
    /// Tokens that are not banned.
    Allowed,
    /// Unchanged, from the logits before edits.
    Kept,
}

/// Summarizes the chunks.
///
/// * storage: logits `[rows, vocabulary]`, bans, search, chunks u32 `[rows, chunks, 4]` (best value, its token,
///   maximum, sum)
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
    let (kernel, chunks_of_group) =
        if params.are_of_panels() { (&VOCABULARY_PANELS, 16) } else { (&VOCABULARY_CHUNKS, 32) };
    Dispatch::new(kernel, constants, &params, fold(rows * chunks.count, chunks_of_group))
}
