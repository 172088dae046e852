//! The vocabulary of a new model: a SentencePiece unigram model, and Marian's `vocab.json` with the same ids.
//!
//! Source and target share it. Hugging Face's `tokenizers` learns the pieces (feature `tokenizers`). Without this feature,
//! [`learn`] returns [`VocabularyError::NeedsFeature`].

#[cfg(feature = "tokenizers")]
mod unigram;
#[cfg(feature = "tokenizers")]
mod words;

use crate::text::{Normalization, TextError};
#[cfg(feature = "tokenizers")]
use crate::text::{SentencePiece, UnigramFile};

/// The token at the end of a sentence.
pub const EOS: &str = "</s>";
/// The token of text outside the vocabulary.
pub const UNKNOWN: &str = "<unk>";
/// The token that fills a batch, and that a translation begins with.
pub const PAD: &str = "<pad>";

/// Tokens of every vocabulary: [`EOS`], [`UNKNOWN`], [`PAD`].
#[cfg(feature = "tokenizers")]
const SPECIAL_TOKENS: usize = 3;
/// The largest vocabulary. The scores of one target token are then 4 MB.
const MAX_SIZE: usize = 1 << 20;

/// Options of a vocabulary.
#[derive(Clone, Debug, PartialEq)]
pub struct VocabularyOptions {
    /// Number of tokens, with the special ones and the bytes.
    pub size: usize,
    /// Whether rare characters become their bytes, which takes 256 of the tokens. Else they become `<unk>`.
    pub byte_fallback: bool,
    /// Share of the text's characters, counted as often as they occur, that are tokens of their own: above 0, at most 1. The
    /// rarest ones are left out.
    pub character_coverage: f64,
}

impl VocabularyOptions {
    /// A vocabulary of this number of tokens, with bytes.
    pub fn new(size: usize) -> Self {
        Self { size, byte_fallback: true, character_coverage: 0.9999 }
    }

    /// Number of tokens that no text decides.
    #[cfg(feature = "tokenizers")]
    fn fixed(&self) -> usize {
        SPECIAL_TOKENS + if self.byte_fallback { 256 } else { 0 }
    }
}

/// A stage of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The words of the text are counted.
    Counting {
        /// Number of texts so far.
        texts: usize,
    },
    /// The pieces are learned. This takes most of the time.
    Learning {
        /// Number of different words, cut where the script changes.
        words: usize,
    },
}

/// A vocabulary as the files of a Marian folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainedVocabulary {
    /// `source.spm` and `target.spm`. Ids are those of `vocab.json`; only [`PAD`] is missing.
    pub spm: Vec<u8>,
    /// `vocab.json`: [`EOS`] is 0, [`UNKNOWN`] is 1, [`PAD`] is the last.
    pub vocab: Vec<u8>,
    /// Number of tokens of `vocab.json`.
    pub size: usize,
    /// Name of the normalization rules: `nmt_nfkc`, or `identity` if the library has no other.
    pub normalization: String,
    /// The characters that the coverage leaves out.
    pub rare_characters: Vec<char>,
}

/// The reason why there is no vocabulary.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum VocabularyError {
    #[error("the text has no words to learn pieces from")]
    NoText,
    #[error("the character coverage is {0}; it must be above 0 and at most 1")]
    Coverage(f64),
    #[error(
        "a vocabulary of {size} tokens is too large for this text, which supports {largest}; take {largest} or fewer"
    )]
    TooLarge { size: usize, largest: usize },
    #[error("a vocabulary of {size} tokens is beyond the limit of {limit}")]
    Limit { size: usize, limit: usize },
    #[error(
        "a vocabulary of {size} tokens is too small: {characters} characters, and {fixed} special tokens and bytes, need \
         {smallest}; take a larger one, or cover fewer characters"
    )]
    TooSmall { size: usize, smallest: usize, characters: usize, fixed: usize },
    #[error("the tokenizers library cannot learn pieces from this text: {0}")]
    Library(String),
    #[error(transparent)]
    Text(#[from] TextError),
    #[error(
        "learning a vocabulary needs a build with the feature `tokenizers` (`cargo build --features tokenizers`)"
    )]
    NeedsFeature,
}

/// Learns a vocabulary from texts: both sides of all pairs. The same texts in any order give the same vocabulary.
///
/// `on_stage` hears of the progress.
///
/// # Errors
/// [`VocabularyError`]
#[cfg(feature = "tokenizers")]
pub fn learn<'a>(
    texts: impl IntoIterator<Item = &'a str>,
    options: &VocabularyOptions,
    normalization: &Normalization,
    on_stage: &mut dyn FnMut(Stage),
) -> Result<TrainedVocabulary, VocabularyError> {
    let size = options.size;
    if size > MAX_SIZE {
        return Err(VocabularyError::Limit { size, limit: MAX_SIZE });
    }
    let words = words::Words::count(texts, options.character_coverage, normalization, on_stage)?;
    let (characters, fixed) = (words.characters.len(), options.fixed());
    let smallest = fixed + characters + 1;
    if size < smallest {
        return Err(VocabularyError::TooSmall { size, smallest, characters, fixed });
    }
    on_stage(Stage::Learning { words: words.counts.len() });
    let pieces = unigram::learn(&words, size - fixed)?;
    if pieces.len() < size - fixed {
        return Err(VocabularyError::TooLarge { size, largest: pieces.len() + fixed });
    }
    let file = UnigramFile {
        pieces: &pieces,
        byte_fallback: options.byte_fallback,
        character_coverage: options.character_coverage as f32,
        normalization,
    };
    let spm = file.to_bytes();
    SentencePiece::from_bytes("source.spm", &spm)?; // whatever is wrong is found now, not by a later reader
    let mut tokens = file.tokens();
    tokens.push(PAD.to_owned());
    Ok(TrainedVocabulary {
        vocab: vocab_json(&tokens),
        size: tokens.len(),
        spm,
        normalization: normalization.name().to_owned(),
        rare_characters: words.rare_characters,
    })
}

/// Without the feature `tokenizers`, there is no way to learn pieces.
///
/// # Errors
/// [`VocabularyError::NeedsFeature`]; [`VocabularyError::Limit`]
#[cfg(not(feature = "tokenizers"))]
pub fn learn<'a>(
    _texts: impl IntoIterator<Item = &'a str>,
    options: &VocabularyOptions,
    _normalization: &Normalization,
    _on_stage: &mut dyn FnMut(Stage),
) -> Result<TrainedVocabulary, VocabularyError> {
    match options.size > MAX_SIZE {
        true => Err(VocabularyError::Limit { size: options.size, limit: MAX_SIZE }),
        false => Err(VocabularyError::NeedsFeature),
    }
}

/// `{"token": id, …}` in the order of ids, one on a line.
#[cfg(feature = "tokenizers")]
fn vocab_json(tokens: &[String]) -> Vec<u8> {
    let lines: Vec<String> = (0..)
        .zip(tokens)
        .map(|(id, token): (u32, _)| format!("{}: {id}", serde_json::Value::from(token.as_str())))
        .collect();
    format!("{{\n{}\n}}\n", lines.join(",\n")).into_bytes()
}
