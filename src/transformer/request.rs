use super::attention_budget::KeepAttention;
use super::cancel::Cancel;
use super::input_states::Source;
use super::kept_attention::KeptAttention;
use crate::decode::{BatchSearch, DecodeOptions, Hypothesis, SearchTree};
use crate::sorting;

/// One input and its search options.
#[derive(Clone, Debug, PartialEq)]
pub struct GenerateRequest {
    /// Source token ids, with the model's special tokens.
    pub input_ids: Vec<u32>,
    /// Search options.
    pub options: DecodeOptions,
    /// Tokens of the source, from 0, that see all tokens and are seen by all: the ones of Hugging Face's
    /// `global_attention_mask`. Only for models whose requests name them (LED).
    pub global_tokens: Vec<usize>,
}

impl GenerateRequest {
    /// A request without global tokens.
    pub fn new(input_ids: Vec<u32>, options: DecodeOptions) -> Self {
        Self { input_ids, options, global_tokens: Vec::new() }
    }

    /// The global tokens, each once and in order.
    pub(super) fn sorted_globals(&self) -> Vec<usize> {
        let mut globals = self.global_tokens.clone();
        sorting::sort(&mut globals);
        globals.dedup();
        globals
    }

    /// The source, and its global tokens.
    pub(super) fn source(&self) -> Source<'_> {
        (&self.input_ids, &self.global_tokens)
    }
}

/// Options of a generation. By default nothing is kept, watched or cancelled.
#[derive(Default)]
pub struct GenerateOptions<'a> {
    /// Kept results besides hypotheses.
    pub keep: Keep,
    /// Stops the generation on request.
    pub cancel: Cancel,
    /// Function that gets the progress.
    pub watch: Option<&'a mut dyn FnMut(Progress<'_>)>,
    /// Whether `watch` gets [`Progress::Step`].
    pub(crate) steps: bool,
    /// Whether the future returns to its executor once after every call of `watch`.
    pub(crate) pauses: bool,
}

impl<'a> GenerateOptions<'a> {
    /// Sets the kept results.
    pub fn keep(self, keep: Keep) -> Self {
        Self { keep, ..self }
    }

    /// Sets the flag that stops the generation.
    pub fn cancel(self, cancel: &Cancel) -> Self {
        Self { cancel: cancel.clone(), ..self }
    }

    /// Sets the function that gets the progress.
    pub fn watch(self, watch: &'a mut dyn FnMut(Progress<'_>)) -> Self {
        Self { watch: Some(watch), steps: true, ..self }
    }

    /// As [`watch`](Self::watch), without [`Progress::Step`]. On the CPU, many requests are then searched on several cores
    /// at the same time, which is faster.
    pub fn watch_results(self, watch: &'a mut dyn FnMut(Progress<'_>)) -> Self {
        Self { watch: Some(watch), steps: false, ..self }
    }
}

/// Results of a generation besides hypotheses. Others cost nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// Attention of each request's best hypothesis; it stays on the device.
    pub attention: Option<KeepAttention>,
    /// Candidates of each search.
    pub tree: bool,
}

impl Keep {
    pub(crate) fn is_nothing(&self) -> bool {
        self.attention.is_none() && !self.tree
    }
}

/// The result of one request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Generation {
    /// Hypotheses, best first.
    pub hypotheses: Vec<Hypothesis>,
    /// Candidates of the search after the prompt; see [`Keep::tree`].
    pub tree: Option<SearchTree>,
    /// Attention of the best hypothesis; see [`Keep::attention`].
    pub attention: Option<KeptAttention>,
}

/// Progress of a generation.
pub enum Progress<'a> {
    /// A batch is in the encoder, several times a second if that takes long. Only on the CPU.
    Encoding {
        /// Indices of the requests in the batch's rows.
        requests: &'a [usize],
        /// Finished part of the encoder, 0 to 1.
        fraction: f32,
    },
    /// A batch is about to take its next step, or several steps if the device searches.
    Step {
        /// Indices of the requests in the batch's rows.
        requests: &'a [usize],
        /// Searches in the same order.
        search: &'a BatchSearch,
    },
    /// Requests are finished.
    Finished {
        /// Indices of the requests.
        requests: &'a [usize],
        /// Hypotheses in the same order, best first.
        hypotheses: &'a [Vec<Hypothesis>],
    },
}
