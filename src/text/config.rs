//! `tokenizer_config.json`

use std::collections::BTreeMap;

use serde::Deserialize;

use super::TextError;
use super::added_tokens::AddedToken;

const FILE: &str = "tokenizer_config.json";

/// The keys of `tokenizer_config.json` that change tokenization. Absent and `null` are `None`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TokenizerConfig {
    pub(super) bos_token: Option<TokenEntry>,
    pub(super) eos_token: Option<TokenEntry>,
    pub(super) unk_token: Option<TokenEntry>,
    pub(super) sep_token: Option<TokenEntry>,
    pub(super) pad_token: Option<TokenEntry>,
    pub(super) cls_token: Option<TokenEntry>,
    pub(super) mask_token: Option<TokenEntry>,
    pub(super) mask_token_sent: Option<TokenEntry>,
    additional_special_tokens: Option<ExtraTokens>,
    extra_special_tokens: Option<ExtraTokens>,
    added_tokens_decoder: Option<BTreeMap<u32, TokenEntry>>,
    pub(super) clean_up_tokenization_spaces: Option<bool>,
    /// Marian: whether the target has a separate vocabulary.
    pub(super) separate_vocabs: Option<bool>,
    /// T5: number of `<extra_id_N>` tokens after the pieces.
    pub(super) extra_ids: Option<u32>,
    /// Pegasus: offset that is added to the ids of pieces.
    pub(super) offset: Option<u32>,
    /// Marian: the language of the sources.
    pub(super) source_lang: Option<String>,
    /// Marian: the language of the translations.
    pub(super) target_lang: Option<String>,
    /// The default source language.
    pub(super) src_lang: Option<String>,
    /// NLLB: whether the source language follows the text.
    pub(super) legacy_behaviour: Option<bool>,
    /// M2M100: name of the set of languages.
    pub(super) language_codes: Option<String>,
}

/// A special token, by name or in full.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum TokenEntry {
    Name(String),
    Full(AddedTokenEntry),
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct AddedTokenEntry {
    content: String,
    #[serde(default)]
    lstrip: bool,
    #[serde(default)]
    rstrip: bool,
    #[serde(default)]
    single_word: bool,
    #[serde(default)]
    normalized: bool,
    #[serde(default)]
    special: bool,
}

/// A list, or a map from names (transformers 5).
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ExtraTokens {
    List(Vec<TokenEntry>),
    Named(BTreeMap<String, TokenEntry>),
}

impl TokenizerConfig {
    /// # Errors
    /// [`TextError::Malformed`], [`TextError::Damaged`]
    pub(super) fn parse(file: Option<&[u8]>) -> Result<Self, TextError> {
        let Some(bytes) = file else { return Ok(Self::default()) };
        serde_json::from_slice(bytes).map_err(|error| TextError::of_json(FILE, &error))
    }

    pub(super) fn eos_token(&self) -> &str {
        self.eos_token.as_ref().map_or("</s>", TokenEntry::content)
    }

    /// The tokens with a role and all other special tokens, in Hugging Face's order.
    pub(super) fn special_tokens(&self) -> Result<Vec<AddedToken>, TextError> {
        let named = [
            &self.bos_token,
            &self.eos_token,
            &self.unk_token,
            &self.sep_token,
            &self.pad_token,
            &self.cls_token,
            &self.mask_token,
            &self.mask_token_sent,
        ];
        let extra = [&self.additional_special_tokens, &self.extra_special_tokens].into_iter().flatten();
        let extra = extra.flat_map(|tokens| match tokens {
            ExtraTokens::List(tokens) => tokens.iter().collect::<Vec<_>>(),
            ExtraTokens::Named(tokens) => tokens.values().collect(),
        });
        let entries = named.into_iter().flatten().chain(extra);
        entries.map(|entry| Ok(AddedToken { special: true, ..entry.added_token()? })).collect()
    }

    /// The tokens of `added_tokens_decoder`, by id.
    pub(super) fn added_tokens(&self) -> Result<Vec<(u32, AddedToken)>, TextError> {
        let entries = self.added_tokens_decoder.iter().flatten();
        entries.map(|(&id, entry)| Ok((id, entry.added_token()?))).collect()
    }
}

impl TokenEntry {
    pub(super) fn content(&self) -> &str {
        match self {
            Self::Name(content) | Self::Full(AddedTokenEntry { content, .. }) => content,
        }
    }

    fn added_token(&self) -> Result<AddedToken, TextError> {
        match self {
            Self::Name(content) => Ok(AddedToken::special(content)),
            Self::Full(AddedTokenEntry { content, lstrip, rstrip, single_word, normalized, special }) => {
                if *single_word {
                    let feature = format!("`single_word` of the added token `{content}`");
                    return Err(TextError::Unsupported { file: FILE.to_owned(), feature });
                }
                Ok(AddedToken {
                    content: content.clone(),
                    lstrip: *lstrip,
                    rstrip: *rstrip,
                    normalized: *normalized,
                    special: *special,
                })
            }
        }
    }
}
