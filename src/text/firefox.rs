//! The tokenizer of Firefox's students: SentencePiece with its own ids.

use super::{SentencePiece, TextError};

/// Name of the end-of-sentence piece.
const EOS: &str = "</s>";

/// Text to token ids and back, equal to the engine of Firefox's translations: one SentencePiece model, or one for the
/// source and one for the target. Ids are those of the models. The text of a special token is ordinary text.
#[derive(Debug)]
pub struct FirefoxTokenizer {
    source: Side,
    /// `None` if source and target share a vocabulary.
    target: Option<Side>,
}

/// A vocabulary and its end-of-sentence token.
#[derive(Debug)]
struct Side {
    spm: SentencePiece,
    eos: u32,
}

impl Side {
    fn new((file, bytes): (&str, &[u8])) -> Result<Self, TextError> {
        let spm = SentencePiece::from_bytes(file, bytes)?;
        let missing = || TextError::MissingToken { file: file.to_owned(), token: EOS.to_owned() };
        let eos = spm.control(EOS).ok_or_else(missing)?;
        Ok(Self { spm, eos })
    }

    fn encode(&self, text: &str) -> Vec<u32> {
        let mut ids = self.spm.encode(text);
        ids.push(self.eos);
        ids
    }
}

impl FirefoxTokenizer {
    /// Builds the tokenizer from its files, each with its name. `target` is `None` for a shared vocabulary.
    ///
    /// # Errors
    /// [`TextError`], naming the damaged file.
    pub fn new(source: (&str, &[u8]), target: Option<(&str, &[u8])>) -> Result<Self, TextError> {
        Ok(Self { source: Side::new(source)?, target: target.map(Side::new).transpose()? })
    }

    fn target(&self) -> &Side {
        self.target.as_ref().unwrap_or(&self.source)
    }

    /// The ids of a source text, ended by the end-of-sentence token.
    pub fn encode_source(&self, text: &str) -> Vec<u32> {
        self.source.encode(text)
    }

    /// The ids of a translation, ended by the end-of-sentence token.
    pub fn encode_target(&self, text: &str) -> Vec<u32> {
        self.target().encode(text)
    }

    /// The text of a sequence of target ids. Special tokens are dropped, or become words of their own. As in the engine,
    /// an unknown token has a text, ` ⁇ `.
    ///
    /// # Errors
    /// [`TextError::UnknownId`]
    pub fn decode(&self, ids: &[u32], skip_special_tokens: bool) -> Result<String, TextError> {
        let spm = &self.target().spm;
        if skip_special_tokens {
            return spm.decode(ids);
        }
        let mut words = Vec::new();
        for part in ids.chunk_by(|&one, &next| !spm.is_control(one) && !spm.is_control(next)) {
            match part {
                &[id] if spm.is_control(id) => words.extend(spm.piece(id).map(str::to_owned)),
                text => words.push(spm.decode(text)?),
            }
        }
        Ok(words.join(" "))
    }

    /// The source token with this id.
    pub fn source_token(&self, id: u32) -> Option<&str> {
        self.source.spm.piece(id)
    }

    /// The target token with this id.
    pub fn target_token(&self, id: u32) -> Option<&str> {
        self.target().spm.piece(id)
    }

    /// Whether a target id stands for no text.
    pub fn is_special(&self, id: u32) -> bool {
        self.target().spm.is_control(id)
    }

    /// The tokens with the largest ids, of source and target.
    pub fn last_tokens(&self) -> [(u32, &str); 2] {
        [&self.source, self.target()].map(|side| {
            let last = side.spm.vocabulary_size().saturating_sub(1) as u32;
            (last, side.spm.piece(last).unwrap_or_default())
        })
    }
}
