//! Decoding: from a step's scores to finished translations, by greedy or beam search.
//!
//! The search follows Hugging Face's `GenerationMixin` (`_sample` without sampling and `_beam_search`, transformers
//! 4.50 and later) token by token and score by score. It is cut in two so that the vocabulary never leaves the
//! device:
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
//! | `greedy`, `beam` | the two strategies, one sentence each |
//! | `search` | a sentence's rows, and the batch of sentences that a device steps together |
//!
//! Nothing here knows a device, waits, or reads a file.

mod beam;
mod error;
mod greedy;
mod options;
mod processors;
mod search;

pub use error::DecodeError;
pub use options::{DecodeOptions, EarlyStopping, MAX_BEAMS};
pub use search::{BatchSearch, Hypothesis, SentenceSearch, StepRequest};
