//! What is generated for, what shall be kept of it, and what comes out.

use super::attention_budget::KeepAttention;
use super::cancel::Cancel;
use super::kept_attention::KeptAttention;
use crate::decode::{BatchSearch, DecodeOptions, Hypothesis, SearchTree};

/// One source sentence, and how to decode it.
#[derive(Clone, Debug, PartialEq)]
pub struct GenerateRequest {
    /// Source token ids, with whatever special tokens the model expects.
    pub input_ids: Vec<u32>,
    /// The search.
    pub options: DecodeOptions,
}

/// How a generation runs: what it keeps, who watches it, and what can stop it. By default nothing of these.
#[derive(Default)]
pub struct GenerateOptions<'a> {
    /// What every result brings besides its hypotheses.
    pub keep: Keep,
    /// Stops the generation when asked to.
    pub cancel: Cancel,
    /// A function that is told how far the generation has come.
    pub watch: Option<&'a mut dyn FnMut(Progress<'_>)>,
    /// Whether the future returns to its executor once after every call of `watch`.
    pub(crate) pauses: bool,
}

impl<'a> GenerateOptions<'a> {
    /// Keep this with every result.
    pub fn keep(self, keep: Keep) -> Self {
        Self { keep, ..self }
    }

    /// Stop when this asks to.
    pub fn cancel(self, cancel: &Cancel) -> Self {
        Self { cancel: cancel.clone(), ..self }
    }

    /// Tell this function how far the generation has come.
    pub fn watch(self, watch: &'a mut dyn FnMut(Progress<'_>)) -> Self {
        Self { watch: Some(watch), ..self }
    }
}

/// What a generation brings besides hypotheses and the log-probabilities of their tokens. What is not kept costs nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// The attention of each request's best hypothesis; it stays on the device.
    pub attention: Option<KeepAttention>,
    /// The tree of candidates that each search weighed.
    pub tree: bool,
}

impl Keep {
    /// Whether hypotheses are enough.
    pub(crate) fn is_nothing(&self) -> bool {
        self.attention.is_none() && !self.tree
    }
}

/// What was generated for one request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Generation {
    /// Outputs, best first.
    pub hypotheses: Vec<Hypothesis>,
    /// The candidates that the search weighed after the prompt; see [`Keep::tree`].
    pub tree: Option<SearchTree>,
    /// Attention of the best hypothesis; see [`Keep::attention`].
    pub attention: Option<KeptAttention>,
}

/// What a generation tells the function that watches it.
pub enum Progress<'a> {
    /// A batch is about to take its next step, or the next few where the device takes them by itself.
    Step {
        /// Requests that have the batch's rows now, as indices into those that were given.
        requests: &'a [usize],
        /// Their searches, in the same order.
        search: &'a BatchSearch,
    },
    /// Requests are done: the last of a batch, or one whose rows another takes over.
    Finished {
        /// As indices into those that were given.
        requests: &'a [usize],
        /// Their hypotheses, in the same order, best first.
        hypotheses: &'a [Vec<Hypothesis>],
    },
}
