//! The tokenizer of ByT5: bytes are tokens. Xue et al. 2022, "ByT5: Towards a token-free future with pre-trained
//! byte-to-byte models"; HF `ByT5Tokenizer`.

use std::collections::HashSet;

use super::added_tokens::{AddedToken, AddedTokens};
use super::config::{TokenEntry, TokenizerConfig};
use super::sentencepiece::SPACE;
use super::{TextError, Vocabulary};

/// Id of the byte 0. Padding, end and unknown come before.
const FIRST_BYTE: u32 = 3;
/// Default number of `<extra_id_N>`, which ByT5 counts upwards, unlike T5.
const EXTRA_IDS: u32 = 125;

/// Text to token ids and back, equal to `ByT5Tokenizer`. It has no file but `tokenizer_config.json`.
#[derive(Debug)]
pub(super) struct ByteTokenizer {
    /// A byte has its character as a token; if it has none, `<0xE2>`.
    vocabulary: Vocabulary,
    added_tokens: AddedTokens,
    special: HashSet<u32>,
    eos: u32,
}

impl ByteTokenizer {
    /// # Errors
    /// [`TextError::Unsupported`], [`TextError::Malformed`]: of `tokenizer_config.json`.
    pub(super) fn new(config: &TokenizerConfig) -> Result<Self, TextError> {
        let mut vocabulary = Vocabulary::of_tokens([]);
        for byte in 0..=u8::MAX {
            vocabulary.insert(&piece(byte), FIRST_BYTE + u32::from(byte));
        }
        // a name alone stands for a token that takes the white space beside it
        let named = |entry: &Option<TokenEntry>, default: &str| match entry {
            Some(TokenEntry::Full(_)) => None,
            Some(TokenEntry::Name(name)) => Some(name.clone()),
            None => Some(default.to_owned()),
        };
        let roles = [(&config.pad_token, "<pad>"), (&config.eos_token, "</s>"), (&config.unk_token, "<unk>")];
        let mut added = Vec::new();
        for ((entry, default), id) in roles.into_iter().zip(0..FIRST_BYTE) {
            vocabulary.insert(entry.as_ref().map_or(default, TokenEntry::content), id);
            let token = named(entry, default).map(|name| AddedToken::special(&name));
            added.extend(token.map(|token| AddedToken { lstrip: true, rstrip: true, ..token }));
        }
        let numbered = config.added_tokens()?;
        numbered.iter().for_each(|(id, token)| vocabulary.insert(&token.content, *id));
        let (with_role, others) = config.roles_and_others()?;
        added.extend(with_role);
        if others.is_empty() {
            let extra = config.extra_ids.unwrap_or(EXTRA_IDS);
            added.extend((0..extra).map(|index| AddedToken::special(&format!("<extra_id_{index}>"))));
        }
        added.extend(others);
        let mut tokens: Vec<(AddedToken, u32)> = Vec::new();
        for token in added {
            let id = vocabulary.id_or_next(&token.content);
            tokens.push((token, id));
        }
        // a token that has a role is special, whatever its entry says
        let special = tokens.iter().map(|&(_, id)| id).collect();
        let numbered = numbered.into_iter().map(|(id, token)| (token, id));
        let added_tokens = AddedTokens::new(numbered.chain(tokens))?;
        let eos = vocabulary.id(config.eos_token()).unwrap_or(1);
        Ok(Self { vocabulary, added_tokens, special, eos })
    }

    /// The ids of a text, without the end token.
    fn encode(&self, text: &str) -> Vec<u32> {
        let mut ids = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (part, added, after) = self.added_tokens.split(rest);
            ids.extend(part.bytes().map(|byte| FIRST_BYTE + u32::from(byte)));
            ids.extend(added);
            rest = after;
        }
        ids
    }

    /// The ids of a text with the end token, unless the text has one at its end.
    pub(super) fn encode_to_end(&self, text: &str) -> Vec<u32> {
        let mut ids = self.encode(text);
        if ids.last() != Some(&self.eos) {
            ids.push(self.eos);
        }
        ids
    }

    /// The text of a sequence of ids. Bytes that are no text are left out.
    ///
    /// # Errors
    /// [`TextError::UnknownId`]
    pub(super) fn decode(&self, ids: &[u32], skip_special_tokens: bool) -> Result<String, TextError> {
        let mut bytes = Vec::new();
        for &id in ids {
            match self.byte(id) {
                Some(byte) => bytes.push(byte),
                None if skip_special_tokens && self.special.contains(&id) => {}
                None => {
                    let unknown = TextError::UnknownId { id, size: self.vocabulary.size() };
                    bytes.extend(self.vocabulary.token(id).ok_or(unknown)?.as_bytes());
                }
            }
        }
        Ok(bytes.utf8_chunks().map(|chunk| chunk.valid()).collect())
    }

    /// The byte that an id stands for.
    pub(super) fn byte(&self, id: u32) -> Option<u8> {
        id.checked_sub(FIRST_BYTE).and_then(|byte| byte.try_into().ok())
    }

    pub(super) fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    pub(super) fn is_special(&self, id: u32) -> bool {
        self.special.contains(&id)
    }
}

/// A byte as SentencePiece would write it: a character, `▁` for a space, or `<0xE2>`.
fn piece(byte: u8) -> String {
    match byte {
        b' ' => SPACE.to_string(),
        _ if byte.is_ascii_graphic() => char::from(byte).to_string(),
        _ => format!("<0x{byte:02X}>"),
    }
}
