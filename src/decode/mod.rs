//! Decoding by greedy search, sampling or beam search, without a device and without input or output.
//!
//! The search follows Hugging Face's `GenerationMixin` (`_sample` and `_beam_search`, transformers 4.50 and later)
//! score by score. It has two halves, so that a row of `[vocabulary]` scores stays on the device, unless sampling needs
//! all of it:
//!
//! ```text
//!   BatchSearch::step     tokens [rows], parents [rows], edits  ->   the device runs the decoder on `rows` tokens,
//!                                                                    edits [rows, vocabulary] scores
//!   BatchSearch::advance  best few scores of each row           <-   and keeps the best few of each row
//! ```
//!
//! | file | |
//! | --- | --- |
//! | `options` | beams, lengths, penalties, special tokens; checked against the model |
//! | `processors` | edits of scores by the tokens so far (bad words, n-grams, minimum length, ...) |
//! | `sample` | greedy search and sampling of one sentence |
//! | `beam`, `tree` | beam search of one sentence, and its candidates |
//! | `constraints`, `progress`, `banks` | terms that hypotheses must have; what they have of them; which go on |
//! | `paths` | rows of a batch that ran the tokens of a hypothesis |
//! | `hypothesis` | an output, growing or finished |
//! | `step` | request to the device and its answer |
//! | `sentence`, `search` | rows of a sentence; a batch of sentences |

mod banks;
mod beam;
mod constraints;
mod error;
mod hypothesis;
mod options;
mod paths;
mod processors;
mod progress;
mod sample;
mod search;
mod sentence;
mod step;
mod tree;

pub use constraints::{ConstraintMode, Constraints, MAX_FORMS, MAX_TERMS, Term};
pub use error::DecodeError;
pub use hypothesis::Hypothesis;
pub(crate) use hypothesis::length_divisor;
pub use options::{Columns, DecodeOptions, EarlyStopping, MAX_BEAMS, Sampling};
pub(crate) use paths::Paths;
pub use search::BatchSearch;
pub use sentence::SentenceSearch;
pub use step::{Offers, StepRequest, StepScores};
pub use tree::{Fate, SearchTree, TreeNode};
