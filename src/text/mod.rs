//! Text to token ids and back.
//!
//! * [`SentencePiece`]: a `.spm` file, id-exact with the C++ library
//! * [`MarianTokenizer`]: `source.spm` + `target.spm` + `vocab.json`, id-exact with Hugging Face's
//! * [`split_lines`]: long text to lines and sentences, nothing lost; [`Sentence::split_to_fit`]: a sentence
//!   that is too long to parts that a model can take
//!
//! Everything is built from bytes in memory and never touches a file, so it runs in a browser as it does
//! natively.

mod abbreviations;
mod error;
mod fit;
mod marian;
mod sentencepiece;
mod sentences;
mod vocabulary;

pub use error::TextError;
pub use marian::{MarianFiles, MarianTokenizer, split_language_tag};
pub use sentencepiece::SentencePiece;
pub use sentences::{Line, Sentence, split_lines};
pub use vocabulary::Vocabulary;
