//! Text to token ids and back.
//!
//! * [`Tokenizer`]: the tokenizer of any model, with its special tokens and languages
//! * [`SentencePiece`]: a `.spm` file, id-exact with the C++ library
//! * [`MarianTokenizer`]: `source.spm` + `target.spm` + `vocab.json`, id-exact with Hugging Face's
//! * [`FirefoxTokenizer`]: `vocab.*.spm` with its own ids, id-exact with Firefox's engine
//! * [`FastTokenizer`]: `tokenizer.json` and vocabularies of older folders, run by Hugging Face's library
//! * [`split_lines`]: long text to lines and sentences, without loss
//! * [`Sentence::split_to_fit`]: a sentence that is too long for a model to parts that fit
//! * [`Token`]: a token with the bytes of the text that it stands for
//!
//! Everything is built from bytes in memory, never from a file, so it also runs in a browser.

mod abbreviations;
mod added_tokens;
mod byte_tokens;
mod class;
mod clean_up;
mod config;
mod emoji;
mod error;
mod fast;
mod firefox;
mod fit;
pub(crate) mod guard;
#[cfg(feature = "tokenizers")]
mod hugging_face;
#[cfg(feature = "tokenizers")]
mod json_limits;
mod language_codes;
mod language_names;
mod language_search;
mod languages;
mod marian;
mod pieces;
mod sentencepiece;
mod sentences;
mod tokenizer;
mod tokens;
mod vocabulary;

pub use class::{TargetRole, TokenizerClass};
pub use error::TextError;
pub use fast::FastTokenizer;
pub use firefox::FirefoxTokenizer;
pub use guard::panic_is_caught;
#[cfg(feature = "tokenizers")]
pub use hugging_face::{FastVocabulary, HuggingFaceTokenizer};
pub use languages::{Direction, Target, Task};
pub use marian::{MarianFiles, MarianTokenizer, split_language_tag};
pub(crate) use sentencepiece::byte_of;
pub use sentencepiece::{Normalization, SentencePiece, UnigramFile};
pub use sentences::{Line, Sentence, split_lines};
pub use tokenizer::{Tokenizer, TokenizerFiles};
pub use tokens::Token;
pub(crate) use tokens::tokens;
pub use vocabulary::Vocabulary;
