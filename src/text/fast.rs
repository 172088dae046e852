//! Tokenizers of Hugging Face's `tokenizers` library, wherever the library runs.

use std::fmt;

use super::TextError;

/// What [`Tokenizer`](super::Tokenizer) asks of Hugging Face's library: it runs in this build (feature `tokenizers`), or in a
/// WebAssembly module of its own, as in a page.
pub trait FastTokenizer: fmt::Debug + Send + Sync {
    /// The ids of a text, with or without the special tokens around it.
    ///
    /// # Errors
    /// [`TextError::Malformed`] for text outside the vocabulary, if there is no unknown token.
    fn encode(&self, text: &str, add_special_tokens: bool) -> Result<Vec<u32>, TextError>;

    /// The text of ids.
    ///
    /// # Errors
    /// [`TextError::UnknownId`]; [`TextError::Malformed`] if the library fails.
    fn decode(&self, ids: &[u32], skip_special_tokens: bool) -> Result<String, TextError>;

    /// The token with this id.
    fn token(&self, id: u32) -> Option<String>;

    /// The id of a token.
    fn id(&self, token: &str) -> Option<u32>;

    /// The token with the largest id.
    fn last(&self) -> (u32, &str);

    /// The ids of special tokens, ascending.
    fn special_ids(&self) -> &[u32];
}

impl dyn FastTokenizer + '_ {
    /// The ids before and after a text; `None` if they cannot be told from the text's.
    pub(super) fn template(&self) -> Option<(Vec<u32>, Vec<u32>)> {
        const PROBE: &str = "a";
        let (whole, text) = (self.encode(PROBE, true).ok()?, self.encode(PROBE, false).ok()?);
        let mut places = (0..=whole.len().checked_sub(text.len())?)
            .filter(|&start| !text.is_empty() && whole[start..].starts_with(&text));
        let (start, None) = (places.next()?, places.next()) else { return None };
        Some((whole[..start].to_vec(), whole[start + text.len()..].to_vec()))
    }

    pub(super) fn is_special(&self, id: u32) -> bool {
        self.special_ids().binary_search(&id).is_ok()
    }

    /// The special tokens with their ids.
    pub(super) fn special_tokens(&self) -> impl Iterator<Item = (String, u32)> {
        self.special_ids().iter().filter_map(|&id| Some((self.token(id)?, id)))
    }
}
