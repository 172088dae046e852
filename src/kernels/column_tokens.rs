//! Columns of [selected outputs](super::selected_linear) to tokens, where a search on the device has noted them.

use super::vocabulary_chunks::Chunks;
use super::{Access, AdapterClass, Dispatch, Kernel, fold};

/// One invocation per noted column.
pub static COLUMN_TOKENS: Kernel = Kernel {
    name: "column_tokens",
    wgsl: wgsl!("column_tokens" + "grid"),
    storage: &[Access::Read, Access::Write],
    params: ColumnTokensParams::FIELDS,
};

params! {
    /// Group 1 of `column_tokens.wgsl`. Distances in words.
    pub struct ColumnTokensParams {
        /// Number of rows.
        pub rows: u32,
        /// Rows of a sentence.
        pub beams: u32,
        /// Columns noted in a row.
        pub count: u32,
        /// Distance of neighbouring rows.
        pub row_step: u32,
        /// First noted column of a row.
        pub first: u32,
        /// Distance of neighbouring noted columns.
        pub step: u32,
        /// Columns of a sentence.
        pub width: u32,
    }
}

/// The places of noted columns in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Places {
    /// In the result of a selection, `[rows, 2, candidates]`.
    OfBest {
        /// Candidates of a row.
        candidates: usize,
    },
    /// In the notes on chunks, `[rows, chunks, 4]`.
    OfChunks {
        /// Elements of a row of logits.
        vocabulary: usize,
    },
}

impl Places {
    /// Those of a selection.
    pub const fn of_best(candidates: usize) -> Self {
        Self::OfBest { candidates }
    }
}

/// Replaces columns by tokens; [`NO_TOKEN`](crate::scores::NO_TOKEN) stays.
///
/// * storage: columns u32 `[rows / beams, width]`, the buffer
pub fn dispatch(rows: usize, beams: usize, places: Places, width: usize, class: AdapterClass) -> Dispatch {
    let [count, row_step, first, step] = match places {
        Places::OfBest { candidates } => [candidates, 2 * candidates, candidates, 1],
        Places::OfChunks { vocabulary } => {
            let chunks = Chunks::of(vocabulary, class).count;
            [chunks, 4 * chunks, 1, 4]
        }
    };
    let params = ColumnTokensParams {
        rows: rows as u32,
        beams: beams as u32,
        count: count as u32,
        row_step: row_step as u32,
        first: first as u32,
        step: step as u32,
        width: width as u32,
    };
    Dispatch::new(&COLUMN_TOKENS, Vec::new(), &params, fold(rows * count, 32))
}
