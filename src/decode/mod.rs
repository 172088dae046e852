//! Decoding: from a step's scores to finished translations, by greedy search, sampling or beam search.
//!
//! The search follows Hugging Face's `GenerationMixin` (`_sample` and `_beam_search`, transformers 4.50 and
//! later) token by token and score by score. It is cut in two so that the vocabulary does not leave the
//! device, unless samples are drawn from all of it:
//!
//! ```text
//!   BatchSearch::step     tokens [rows], parents [rows], edits  ->   the device runs the decoder on `rows` tokens,
//!                                                                    edits [rows, vocabulary] scores
//!   BatchSearch::advance  best few scores of each row           <-   and keeps the best few of each row
//! ```
//!
//! | file | |
//! | --- | --- |
//! | `options` | what to decode: beams, lengths, penalties, special tokens; checked against the model |
//! | `processors` | which scores to edit, given the tokens so far (bad words, n-grams, minimum length, ...) |
//! | `sample` | greedy search and sampling of one sentence; what may be drawn |
//! | `beam` | beam search of one sentence |
//! | `tree` | the candidates that a beam search weighed |
//! | `paths` | which rows of a batch ran the tokens of a hypothesis |
//! | `hypothesis` | an output, growing or finished |
//! | `step` | what a device is asked in a step, and what it answers |
//! | `sentence`, `search` | a sentence's rows, and the batch of sentences that a device steps together |
//!
//! Nothing here knows a device, waits, or reads a file.

mod beam;
mod error;
mod hypothesis;
mod options;
mod paths;
mod processors;
mod sample;
mod search;
mod sentence;
mod step;
mod tree;

pub use error::DecodeError;
pub use hypothesis::Hypothesis;
pub(crate) use hypothesis::length_divisor;
pub use options::{DecodeOptions, EarlyStopping, MAX_BEAMS, Sampling};
pub(crate) use paths::Paths;
pub use search::BatchSearch;
pub use sentence::SentenceSearch;
pub use step::{StepRequest, StepScores};
pub use tree::{Fate, SearchTree, TreeNode};
