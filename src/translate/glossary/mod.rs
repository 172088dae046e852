//! Terms whose translation is prescribed: a glossary is read, bound to a model's target vocabulary, and found in sentences.
//!
//! | file | |
//! |---|---|
//! | `file` | lines of a glossary |
//! | `matching` | terms in a sentence, by words |
//! | `bound` | a glossary for one model: the terms' tokens, and the constraints of a sentence |

mod bound;
mod error;
mod file;
mod matching;

pub use bound::Glossary;
pub(super) use bound::SentenceTokens;
pub use error::GlossaryError;
pub use file::{CaseRule, GlossaryEntry, GlossaryFile};
