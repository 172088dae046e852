//! Text to token ids and back.
//!
//! * [`Tokenizer`]: whatever a model has, with its special tokens and languages
//! * [`SentencePiece`]: a `.spm` file, id-exact with the C++ library
//! * [`MarianTokenizer`]: `source.spm` + `target.spm` + `vocab.json`, id-exact with Hugging Face's
//! * [`split_lines`]: long text to lines and sentences, nothing lost; [`Sentence::split_to_fit`]: a sentence
//!   that is too long to parts that a model can take
//!
//! Everything is built from bytes in memory and never touches a file, so it runs in a browser as it does
//! natively.

mod abbreviations;
mod added_tokens;
mod class;
mod clean_up;
mod config;
mod error;
mod fit;
#[cfg(feature = "tokenizers")]
mod json;
mod language_codes;
mod languages;
mod marian;
mod pieces;
mod sentencepiece;
mod sentences;
mod tokenizer;
mod vocabulary;

pub use class::{TargetRole, TokenizerClass};
pub use error::TextError;
pub use languages::{Direction, Target, Task};
pub use marian::{MarianFiles, MarianTokenizer, split_language_tag};
pub use sentencepiece::SentencePiece;
pub use sentences::{Line, Sentence, split_lines};
pub use tokenizer::{Tokenizer, TokenizerFiles};
pub use vocabulary::Vocabulary;
