//! Graphs for training: what operators read when they are added, and where gradients go.

use super::values::{State, Value};
use crate::precision::Products;

/// Whether this build can train: the feature `training`. A constant, so that a build without it holds no code of training.
pub(crate) const TRAINING: bool = cfg!(feature = "training");

/// Words of the [step state](Training::step). Numbers with a point are stored as their bits.
pub mod step_word {
    /// Seed of the random numbers, two words.
    pub const SEED: usize = 0;
    /// Number of the pass, two words: no other pass drops the same values.
    pub const PASS: usize = 2;
    /// Factor of the loss, f32.
    pub const LOSS_FACTOR: usize = 4;
    /// Learning rate, f32.
    pub const LEARNING_RATE: usize = 5;
    /// `1 / (1 - β₁ᵗ)`, f32.
    pub const CORRECTION_1: usize = 6;
    /// `1 / (1 - β₂ᵗ)`, f32.
    pub const CORRECTION_2: usize = 7;
    /// Row of the metrics that the pass adds to.
    pub const SLOT: usize = 8;
    /// Number of words.
    pub const COUNT: usize = 12;
}

/// Rows sorted by the table row that each reads, for the gradient of the table.
#[derive(Clone, Copy, Debug)]
pub struct SortedRows {
    /// u32 `[rows, 1]`: row numbers, sorted by table row.
    pub order: State,
    /// u32 `[rows + 2, 2]`: table row and first index in `order` of each segment; the list ends with
    /// [`NO_ROW`](crate::cpu::NO_ROW) and the end of the last segment.
    pub segments: State,
}

/// Settings of a graph for training.
#[derive(Clone, Debug)]
pub struct Training {
    /// u32 `[1, step_word::COUNT]`: what changes from pass to pass.
    pub step: State,
    /// How matrices are multiplied on the CPU.
    pub products: Products,
    /// Share of values that each dropout drops.
    pub dropout: f32,
    /// Share of attention weights that are dropped.
    pub attention_dropout: f32,
    /// Gradients of the weights, by index; `None` for weights that are not trained.
    pub weight_gradients: Vec<Option<State>>,
    /// Logits that the loss computes at a time, at most, unless one row has more.
    pub logits_at_once: usize,
    /// For each u32 state of token ids or positions: its rows, sorted.
    pub sorted: Vec<(State, SortedRows)>,
}

/// The settings, and the number of dropouts so far.
#[derive(Clone, Debug)]
pub(super) struct TrainingGraph {
    pub settings: Training,
    pub places: u32,
    /// Sentences of the rows that are built now, if batch norms are to compute their statistics.
    pub packed_rows: Option<Value>,
}
