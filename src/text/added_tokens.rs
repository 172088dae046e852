//! Tokens that are cut out of a text before SentencePiece or another model splits it.

use super::TextError;
use super::sentencepiece::Trie;

/// A token that is recognized anywhere in a text, such as `</s>` or `<extra_id_0>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AddedToken {
    pub(super) content: String,
    /// Whether the token includes the white space on its left, or on its right.
    pub(super) lstrip: bool,
    pub(super) rstrip: bool,
    /// Whether the token is only found where no letters and digits are beside it. Only Hugging Face's library can do that.
    pub(super) single_word: bool,
    /// Whether the token is searched in the normalized text. Only `tokenizer.json` makes this distinction.
    pub(super) normalized: bool,
    /// Whether the token stands for no text, so that decoding may skip it.
    pub(super) special: bool,
}

impl AddedToken {
    pub(super) fn special(content: &str) -> Self {
        let content = content.to_owned();
        Self { content, lstrip: false, rstrip: false, single_word: false, normalized: false, special: true }
    }
}

/// All added tokens of a tokenizer, with their ids.
#[derive(Debug)]
pub(super) struct AddedTokens {
    tokens: Vec<(AddedToken, u32)>,
    /// Maps content to an index into `tokens`.
    trie: Trie,
}

impl AddedTokens {
    /// Of tokens with the same content, keeps the first.
    ///
    /// # Errors
    /// [`TextError::Unsupported`] for `single_word`.
    pub(super) fn new(tokens: impl IntoIterator<Item = (AddedToken, u32)>) -> Result<Self, TextError> {
        let mut known = std::collections::HashSet::new();
        let tokens: Vec<(AddedToken, u32)> = tokens
            .into_iter()
            .filter(|(token, _)| !token.content.is_empty() && known.insert(token.content.clone()))
            .collect();
        if let Some((token, _)) = tokens.iter().find(|(token, _)| token.single_word) {
            let feature = format!("`single_word` of the added token `{}`", token.content);
            return Err(TextError::Unsupported { file: "tokenizer_config.json".to_owned(), feature });
        }
        let trie = Trie::new((0..).zip(&tokens).map(|(index, (token, _))| (&*token.content, index)));
        Ok(Self { tokens, trie })
    }

    /// The ids of the special tokens.
    pub(super) fn special_ids(&self) -> impl Iterator<Item = u32> {
        self.tokens.iter().filter(|(token, _)| token.special).map(|&(_, id)| id)
    }

    /// The text before the first added token, the token's id, and the text after it. At one position, the longest token wins.
    pub(super) fn split<'a>(&self, text: &'a str) -> (&'a str, Option<u32>, &'a str) {
        let found = text.char_indices().find_map(|(start, _)| {
            let (length, index) = self.trie.prefixes(&text[start..]).last()?;
            Some((start, length, &self.tokens[index as usize]))
        });
        let Some((start, length, (token, id))) = found else { return (text, None, "") };
        let (before, after) = (&text[..start], &text[start + length..]);
        (
            if token.lstrip { before.trim_end_matches(is_python_space) } else { before },
            Some(*id),
            if token.rstrip { after.trim_start_matches(is_python_space) } else { after },
        )
    }
}

/// Python's `str.isspace`, which includes four ASCII separators that Unicode does not.
pub(super) fn is_python_space(character: char) -> bool {
    character.is_whitespace() || ('\x1c'..='\x1f').contains(&character)
}
