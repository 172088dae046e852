//! Text in, text out: a text becomes sentences and tokens, and their translations become a text.
//!
//! | file | |
//! |---|---|
//! | `texts` | one text or many |
//! | `options`, `error`, `translation` | what goes in and what comes out |
//! | `languages` | what languages mean for a search |
//! | [`alignment`] | which tokens and words were translated to which |
//! | `translator` | a model and its tokenizer |
//! | `layout` | sentences of a text and the white space between them |
//! | `glossary` | terms whose translation is prescribed |
//! | `document` | a document as one source |
//! | `job`, `cache` | sentences of several texts in common batches; results of earlier ones |
//! | `stream` | [`Translator::translate`] and [`Translator::stream`] |
//! | `parts` | the same, for a caller that searches the sentences itself |
//! | `pivot` | two models, through a third language |
//! | `quality` | how far a translation can be trusted |

pub mod alignment;
mod cache;
mod document;
mod error;
mod glossary;
mod job;
mod languages;
mod layout;
mod lost_bytes;
mod options;
mod parts;
mod pivot;
mod quality;
mod stream;
mod texts;
mod translation;
mod translator;

pub use alignment::SentenceAlignment;
pub use document::{Document, Excess};
pub use error::TranslateError;
pub use glossary::{CaseRule, Glossary, GlossaryEntry, GlossaryError, GlossaryFile};
pub use job::Update;
pub use languages::resolve_languages;
pub use options::TranslateOptions;
pub use parts::Parts;
pub use pivot::{Pivot, PivotOptions, Pivoted};
pub use quality::Quality;
pub use stream::Stream;
pub use texts::Texts;
pub use translation::{Sentence, SentenceHypothesis, TextHypothesis, Translation};
pub use translator::Translator;
