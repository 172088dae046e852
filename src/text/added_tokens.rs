//! Tokens that are cut out of a text before a model of language sees it.

use super::sentencepiece::Trie;

/// A token that stands for itself wherever a text has it, such as `</s>` or `<extra_id_0>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AddedToken {
    pub(super) content: String,
    /// It takes the white space on its left, or on its right, with it.
    pub(super) lstrip: bool,
    pub(super) rstrip: bool,
    /// It is looked for in the normalized text. Only `tokenizer.json` knows the difference.
    pub(super) normalized: bool,
    /// It is no text: decoding may leave it out.
    pub(super) special: bool,
}

impl AddedToken {
    pub(super) fn special(content: &str) -> Self {
        let content = content.to_owned();
        Self { content, lstrip: false, rstrip: false, normalized: false, special: true }
    }
}

/// All added tokens of a tokenizer, with their ids.
#[derive(Debug)]
pub(super) struct AddedTokens {
    tokens: Vec<(AddedToken, u32)>,
    /// From content to index.
    trie: Trie,
}

impl AddedTokens {
    /// Of tokens with the same content, the first counts.
    pub(super) fn new(tokens: impl IntoIterator<Item = (AddedToken, u32)>) -> Self {
        let mut known = std::collections::HashSet::new();
        let tokens: Vec<(AddedToken, u32)> = tokens
            .into_iter()
            .filter(|(token, _)| !token.content.is_empty() && known.insert(token.content.clone()))
            .collect();
        let trie = Trie::new((0..).zip(&tokens).map(|(index, (token, _))| (&*token.content, index)));
        Self { tokens, trie }
    }

    /// The ids of the special ones.
    pub(super) fn special_ids(&self) -> impl Iterator<Item = u32> {
        self.tokens.iter().filter(|(token, _)| token.special).map(|&(_, id)| id)
    }

    /// Text before the first added token, that token's id (of several at one place, the longest's), text after it.
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

/// `str.isspace` of Python, which counts four separators of ASCII that Unicode does not.
pub(super) fn is_python_space(character: char) -> bool {
    character.is_whitespace() || ('\x1c'..='\x1f').contains(&character)
}
