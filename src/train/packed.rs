//! Batches without padding: the sentences of a batch are rows of one value, one after the other.

use serde::{Deserialize, Serialize};

use super::TrainError;
use crate::cpu::{NO_LABEL, NO_ROW};
use crate::model::config::{Family, ModelConfig, Positions};

/// A sentence pair as token ids. Both sides have the end token, and the source any token that the model expects there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pair {
    /// Tokens that the encoder reads.
    pub source: Vec<u32>,
    /// Tokens that the decoder learns to say, without the start token.
    pub target: Vec<u32>,
}

/// Rows of the values of a batch: the largest numbers of tokens of all its sentences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capacity {
    /// Source tokens.
    pub source_rows: usize,
    /// Target tokens.
    pub target_rows: usize,
}

/// The tokens of one side of a batch, with a row for each.
#[derive(Clone, Debug)]
pub(super) struct Side {
    pub ids: Vec<u32>,
    pub positions: Vec<u32>,
    /// First row and end of each row's own sentence.
    pub sentences: Vec<[u32; 2]>,
    /// First row and end of the sentence on the other side.
    pub others: Vec<[u32; 2]>,
}

/// A batch as the words of the input states.
#[derive(Clone, Debug)]
pub(super) struct PackedBatch {
    pub source: Side,
    pub target: Side,
    pub labels: Vec<u32>,
    /// Number of labels.
    pub tokens: usize,
}

impl Side {
    fn new(rows: usize) -> Self {
        Self {
            ids: Vec::with_capacity(rows),
            positions: Vec::with_capacity(rows),
            sentences: Vec::with_capacity(rows),
            others: Vec::with_capacity(rows),
        }
    }

    fn push(&mut self, config: &ModelConfig, tokens: &[u32], other: [u32; 2]) {
        let own = [self.ids.len() as u32, (self.ids.len() + tokens.len()) as u32];
        self.ids.extend(tokens);
        self.positions.extend(config.position_rows(tokens));
        self.sentences.extend(tokens.iter().map(|_| own));
        self.others.extend(tokens.iter().map(|_| other));
    }

    /// Fills up to `rows` rows, which see nothing and are not seen.
    fn fill(&mut self, rows: usize) {
        self.ids.resize(rows, 0);
        self.positions.resize(rows, 0);
        self.sentences.resize(rows, [0; 2]);
        self.others.resize(rows, [0; 2]);
    }

    /// For each row, the rows up to itself.
    pub fn until_self(&self) -> Vec<[u32; 2]> {
        let rows = self.sentences.iter().zip(0..);
        rows.map(|([first, end], row)| if first == end { [0; 2] } else { [*first, row + 1] }).collect()
    }

    /// For each row, the rows from itself on.
    pub fn self_to_end(&self) -> Vec<[u32; 2]> {
        let rows = self.sentences.iter().zip(0..);
        rows.map(|([first, end], row)| if first == end { [0; 2] } else { [row, *end] }).collect()
    }

    /// Rows sorted by what `table_rows` says that each reads, without rows that read `padding` or belong to no sentence:
    /// the words of `order` and of `segments`.
    pub fn sorted(&self, table_rows: &[u32], padding: Option<u32>) -> [Vec<u32>; 2] {
        let rows = self.sentences.len();
        let is_read = |row: &u32| {
            let [first, end] = self.sentences[*row as usize];
            first != end && Some(table_rows[*row as usize]) != padding
        };
        let mut order: Vec<u32> = (0..rows as u32).filter(is_read).collect();
        order.sort_by_key(|row| table_rows[*row as usize]);
        let mut segments = Vec::with_capacity(2 * rows + 4);
        let mut before = None;
        for (index, row) in (0..).zip(&order) {
            let table_row = table_rows[*row as usize];
            if before.replace(table_row) != Some(table_row) {
                segments.extend([table_row, index]);
            }
        }
        let end = order.len() as u32;
        while segments.len() < 2 * rows + 4 {
            segments.extend([NO_ROW, end]);
        }
        order.resize(rows, 0);
        [order, segments]
    }
}

impl PackedBatch {
    /// Packs pairs.
    pub fn new<'a>(
        config: &ModelConfig,
        capacity: Capacity,
        pairs: impl Iterator<Item = &'a Pair>,
    ) -> Result<Self, TrainError> {
        let Capacity { source_rows, target_rows } = capacity;
        let mut batch = Self {
            source: Side::new(source_rows),
            target: Side::new(target_rows),
            labels: Vec::with_capacity(target_rows),
            tokens: 0,
        };
        let mut shifted = Vec::new();
        for pair in pairs {
            check(config, pair)?;
            let start = |side: &Side| side.ids.len() as u32;
            let [source, target] = [
                [start(&batch.source), start(&batch.source) + pair.source.len() as u32],
                [start(&batch.target), start(&batch.target) + pair.target.len() as u32],
            ];
            batch.source.push(config, &pair.source, target);
            shift_right(config, &pair.target, &mut shifted);
            batch.target.push(config, &shifted, source);
            batch.labels.extend(&pair.target);
        }
        batch.tokens = batch.labels.len();
        for (side, tokens, rows) in
            [("source", batch.source.ids.len(), source_rows), ("target", batch.tokens, target_rows)]
        {
            if tokens > rows {
                return Err(TrainError::TooManyTokens { side, tokens, rows });
            }
        }
        batch.source.fill(source_rows);
        batch.target.fill(target_rows);
        batch.labels.resize(target_rows, NO_LABEL);
        Ok(batch)
    }
}

/// What the decoder reads: the start token, then the target without its last token. mBART starts with the last token, the
/// language (HF `shift_tokens_right`).
fn shift_right(config: &ModelConfig, target: &[u32], shifted: &mut Vec<u32>) {
    shifted.clear();
    let last = target.last().copied();
    let start = match config.family {
        Family::MBart => last,
        _ => config.tokens.decoder_start.or(last),
    };
    shifted.extend(start.into_iter().chain(target.iter().copied()).take(target.len()));
}

fn check(config: &ModelConfig, pair: &Pair) -> Result<(), TrainError> {
    let sides = [
        ("source", &pair.source, config.source_vocabulary),
        ("target", &pair.target, config.target_vocabulary),
    ];
    for (side, ids, vocabulary) in sides {
        if let Some(&id) = ids.iter().find(|id| **id as usize >= vocabulary) {
            return Err(TrainError::TokenId { side, id, vocabulary });
        }
        let limit = config.positions.longest_input();
        if ids.len() > limit {
            return Err(TrainError::TooLong { side, tokens: ids.len(), limit });
        }
    }
    Ok(())
}

/// The token whose embedding gets no gradient from being read: `padding_idx` of torch's `Embedding`.
pub(super) fn padding_of(config: &ModelConfig) -> Option<u32> {
    match config.family {
        Family::T5 | Family::MT5 | Family::UMT5 | Family::Vanilla => None,
        _ => Some(config.tokens.pad),
    }
}

/// Whether positions are a trained table.
pub(super) fn learns_positions(config: &ModelConfig) -> bool {
    matches!(config.positions, Positions::Learned { .. } | Positions::LearnedWithoutPadding { .. })
}
