//! Masks of requests of token ids.

use wordloom::decode::DecodeError;
use wordloom::model::config::Architecture;
use wordloom::model::generation_config::GenerationConfig;
use wordloom::readable::counted;

/// The tokens that an attention mask selects.
pub struct Unpadded {
    pub input_ids: Vec<u32>,
    /// Number of tokens that were left out before the first.
    padding: usize,
}

impl Unpadded {
    /// A decoder's input may be padded on the left, an encoder's on the right.
    pub fn new(
        mut ids: Vec<u32>,
        mask: Option<&[u32]>,
        architecture: Architecture,
    ) -> Result<Self, MaskError> {
        let Some(mask) = mask else {
            return Ok(Self { input_ids: ids, padding: 0 });
        };
        if mask.len() != ids.len() {
            return Err(MaskError::Length { mask: mask.len(), ids: ids.len() });
        }
        if let Some(&value) = mask.iter().find(|&&value| value > 1) {
            return Err(MaskError::Value(value));
        }
        let shown = mask.iter().position(|&value| value == 1).zip(mask.iter().rposition(|&value| value == 1));
        let (first, last) = match shown {
            Some(shown) => shown,
            None if ids.is_empty() => return Ok(Self { input_ids: ids, padding: 0 }),
            None => return Err(MaskError::Everything),
        };
        let (side, misplaced) = match architecture {
            Architecture::DecoderOnly => ("beginning", last + 1 < mask.len()),
            Architecture::EncoderDecoder | Architecture::EncoderOnly => ("end", first > 0),
        };
        if misplaced || mask[first..last].contains(&0) {
            return Err(MaskError::Place(side));
        }
        ids.truncate(last + 1);
        let input_ids = ids.split_off(first);
        Ok(Self { input_ids, padding: first })
    }

    /// Subtracts the padding from lengths, which include it in Hugging Face's `generate`. Padding has no other effect.
    pub fn lengths_of(&self, config: &GenerationConfig) -> GenerationConfig {
        let without = |length: Option<usize>| length.map(|length| length.saturating_sub(self.padding));
        let (max_length, min_length) = (without(config.max_length), without(config.min_length));
        GenerationConfig { max_length, min_length, ..config.clone() }
    }

    /// The error of a maximal length as the request has it, with its padding.
    pub fn with_padding(&self, error: DecodeError, max_length: Option<usize>) -> DecodeError {
        match (error, max_length) {
            (DecodeError::Option { option: "max_length", allowed, .. }, Some(given)) if self.padding > 0 => {
                let value = given.to_string();
                let allowed = format!("{allowed}; {} of padding come on top", self.padding);
                DecodeError::Option { option: "max_length", value, allowed }
            }
            (error, _) => error,
        }
    }
}

/// The reason why a mask of a request is refused.
#[derive(Debug, thiserror::Error)]
pub enum MaskError {
    #[error(
        "\"attention_mask\" has {} for {ids} input_ids; give one for each, or leave it out",
        counted(*mask, "value")
    )]
    Length { mask: usize, ids: usize },
    #[error("\"attention_mask\" holds {0}; expected 1 for a token and 0 for padding")]
    Value(u32),
    #[error(
        "\"global_attention_mask\" has {} for {ids} input_ids; give one for each, or leave it out",
        counted(*mask, "value")
    )]
    GlobalLength { mask: usize, ids: usize },
    #[error("\"global_attention_mask\" holds {0}; expected 1 for a token that sees all, and 0 for others")]
    GlobalValue(u32),
    #[error("\"attention_mask\" hides every token; at least one is needed")]
    Everything,
    #[error("\"attention_mask\" has a 0 where this model can have no padding, which is at the {0} only")]
    Place(&'static str),
}

/// The global tokens of a mask, counted without padding. It may be empty: no token is global then, as in transformers.
///
/// * `ids`: number of ids, and their attention mask
pub fn global_tokens(globals: &[u32], ids: (usize, Option<&[u32]>)) -> Result<Vec<usize>, MaskError> {
    let (ids, mask) = ids;
    if !globals.is_empty() && globals.len() != ids {
        return Err(MaskError::GlobalLength { mask: globals.len(), ids });
    }
    if let Some(&value) = globals.iter().find(|&&value| value > 1) {
        return Err(MaskError::GlobalValue(value));
    }
    let is_kept = |&index: &usize| mask.is_none_or(|mask| mask.get(index) != Some(&0));
    let kept = (0..globals.len()).filter(is_kept).enumerate();
    Ok(kept.filter(|&(_, index)| globals[index] != 0).map(|(token, _)| token).collect())
}
