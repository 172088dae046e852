//! Tokenizers in `tokenizer.json`, run by Hugging Face's own library.

use std::collections::HashSet;

use super::added_tokens::AddedToken;
use super::clean_up::clean_up;
use super::config::TokenizerConfig;
use super::guard::guarded;
use super::{TextError, TokenizerClass, json_limits};
use crate::json_problem::plain;

const FILE: &str = "tokenizer.json";

/// A `tokenizer.json`, as `PreTrainedTokenizerFast` of transformers reads it.
#[derive(Debug)]
pub(super) struct JsonTokenizer {
    inner: tokenizers::Tokenizer,
    special: HashSet<u32>,
    /// The token with the largest id.
    last: (u32, String),
    clean_up: bool,
}

impl JsonTokenizer {
    /// # Errors
    /// [`TextError::Malformed`]
    pub(super) fn new(
        class: TokenizerClass,
        bytes: &[u8],
        config: &TokenizerConfig,
    ) -> Result<Self, TextError> {
        let mut inner = parse(bytes)?;
        // transformers ignores the file's truncation and padding unless a call requests them
        call(|| inner.with_truncation(None).map(|_| ()))?;
        inner.with_padding(None);

        // tokens of `tokenizer_config.json` and of the class are special, even if the file does not mark them
        let known = inner.get_added_tokens_decoder();
        let mut added: Vec<AddedToken> = config.added_tokens()?.into_iter().map(|(_, token)| token).collect();
        added.extend(config.special_tokens()?);
        let languages = class.language_tokens(config).into_iter();
        let languages = languages.filter(|token| inner.token_to_id(token).is_some());
        added.extend(languages.map(|token| AddedToken::special(&token)));
        added.retain(|token| !known.values().any(|known| known.content == token.content && known.special));
        for token in added {
            let token_here = tokenizers::AddedToken::from(token.content.clone(), token.special)
                .lstrip(token.lstrip)
                .rstrip(token.rstrip)
                .normalized(token.normalized);
            call(|| match token.special {
                true => inner.add_special_tokens([token_here]),
                false => inner.add_tokens([token_here]),
            })?;
        }
        let special = inner.get_added_tokens_decoder();
        let last = inner.get_vocab(true).into_iter().map(|(token, id)| (id, token)).max();
        let wordy = !matches!(inner.get_model(), tokenizers::ModelWrapper::BPE(_));
        Ok(Self {
            special: special.into_iter().filter(|(_, token)| token.special).map(|(id, _)| id).collect(),
            last: last.ok_or_else(|| malformed("it has no tokens"))?,
            // not for byte-level text, where it would remove wanted spaces; transformers does the same
            clean_up: wordy && config.clean_up_tokenization_spaces.unwrap_or(false),
            inner,
        })
    }

    /// The ids of a text, with or without the special tokens of the file's post-processor.
    ///
    /// # Errors
    /// [`TextError::Malformed`] for text outside the vocabulary, if the file has no unknown token.
    pub(super) fn encode(&self, text: &str, add_special_tokens: bool) -> Result<Vec<u32>, TextError> {
        let encoding = call(|| self.inner.encode_fast(text, add_special_tokens))?;
        Ok(encoding.get_ids().to_vec())
    }

    /// # Errors
    /// [`TextError::UnknownId`]; [`TextError::Malformed`] if the file's decoder fails.
    pub(super) fn decode(&self, ids: &[u32], skip_special_tokens: bool) -> Result<String, TextError> {
        if let Some(&id) = ids.iter().find(|&&id| self.token(id).is_none()) {
            return Err(TextError::UnknownId { id, size: self.inner.get_vocab_size(true) });
        }
        let text = call(|| self.inner.decode(ids, skip_special_tokens))?;
        Ok(if self.clean_up { clean_up(&text) } else { text })
    }

    /// The ids before and after a text by the file's post-processor; `None` if they cannot be told from the text's.
    pub(super) fn template(&self) -> Option<(Vec<u32>, Vec<u32>)> {
        const PROBE: &str = "a";
        let (whole, text) = (self.encode(PROBE, true).ok()?, self.encode(PROBE, false).ok()?);
        let mut places = (0..=whole.len().checked_sub(text.len())?)
            .filter(|&start| !text.is_empty() && whole[start..].starts_with(&text));
        let (start, None) = (places.next()?, places.next()) else { return None };
        Some((whole[..start].to_vec(), whole[start + text.len()..].to_vec()))
    }

    pub(super) fn token(&self, id: u32) -> Option<String> {
        self.inner.id_to_token(id)
    }

    pub(super) fn id(&self, token: &str) -> Option<u32> {
        self.inner.token_to_id(token)
    }

    pub(super) fn last(&self) -> (u32, &str) {
        (self.last.0, &self.last.1)
    }

    pub(super) fn is_special(&self, id: u32) -> bool {
        self.special.contains(&id)
    }

    /// The special tokens with their ids.
    pub(super) fn special_tokens(&self) -> impl Iterator<Item = (String, u32)> {
        self.special.iter().filter_map(|&id| Some((self.token(id)?, id)))
    }
}

/// Parses the file, after a check of the parts that the library would trust.
fn parse(bytes: &[u8]) -> Result<tokenizers::Tokenizer, TextError> {
    let _: serde::de::IgnoredAny =
        serde_json::from_slice(bytes).map_err(|error| TextError::of_json(FILE, &error))?;
    json_limits::check(bytes).map_err(malformed)?;
    let parsed = guarded(|| tokenizers::Tokenizer::from_bytes(bytes)).map_err(malformed)?;
    parsed.map_err(|error| malformed(plain(&error.to_string())))
}

fn malformed(error: impl ToString) -> TextError {
    TextError::Malformed { file: FILE.to_owned(), reason: error.to_string() }
}

/// Calls the library. Its errors and its panics are errors of the file.
fn call<T>(call: impl FnOnce() -> tokenizers::Result<T>) -> Result<T, TextError> {
    guarded(call).map_err(malformed)?.map_err(|error| malformed(plain(&error.to_string())))
}
