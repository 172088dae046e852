//! Text in, text out: lines and sentences, their tokens, their search, and everything put back together.
//!
//! | file | |
//! |---|---|
//! | `texts` | one text or many |
//! | `options`, `error`, `translation` | what goes in and what comes out |
//! | `languages` | what languages mean for a search |
//! | [`alignment`] | which tokens and words were translated to which |
//! | `translator` | a model and its tokenizer |
//! | `layout` | a text as sentences and what stands between them |
//! | `job` | texts that wait for their sentences |
//! | `stream` | [`Translator::translate`] and [`Translator::stream`] |
//! | `cache` | sentences that come again |

pub mod alignment;
mod cache;
mod error;
mod job;
mod languages;
mod layout;
mod options;
mod stream;
mod texts;
mod translation;
mod translator;

pub use alignment::SentenceAlignment;
pub use error::TranslateError;
pub use job::Update;
pub use languages::resolve_languages;
pub use options::TranslateOptions;
pub use stream::Stream;
pub use texts::Texts;
pub use translation::{Sentence, SentenceHypothesis, TextHypothesis, Translation};
pub use translator::Translator;
