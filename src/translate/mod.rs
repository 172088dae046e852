//! Text in, text out: a text becomes sentences and tokens, and their translations become a text.
//!
//! | file | |
//! |---|---|
//! | `texts`, `options` | input: one text or many, and options |
//! | `error`, `translation` | output |
//! | `languages` | languages as search options |
//! | `translator` | a model and its tokenizer |
//! | `layout` | sentences of a text and the white space between them |
//! | `job`, `cache` | sentences of several texts in common batches; results of earlier ones |
//! | `stream` | [`Translator::translate`] and [`Translator::stream`] |

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

pub use error::TranslateError;
pub use job::Update;
pub use languages::resolve_languages;
pub use options::TranslateOptions;
pub use stream::Stream;
pub use texts::Texts;
pub use translation::{Sentence, SentenceHypothesis, TextHypothesis, Translation};
pub use translator::Translator;
