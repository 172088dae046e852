//! `tokenizer_config.json`

use std::collections::BTreeMap;

use serde::Deserialize;

use super::TextError;
#[cfg(feature = "tokenizers")]
use super::TokenizerClass;
use super::added_tokens::AddedToken;

const FILE: &str = "tokenizer_config.json";

/// Limit on the numbers of tokens that a file asks for; a larger one is a mistake.
const MOST_ADDED: u32 = 1 << 16;

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
    /// Whether these tokens are put around a text, for classes that have no tokens around it.
    #[cfg(feature = "tokenizers")]
    pub(super) add_bos_token: Option<bool>,
    #[cfg(feature = "tokenizers")]
    pub(super) add_eos_token: Option<bool>,
    /// GPT-2, RoBERTa: whether a text begins as a word after a space does.
    #[cfg(feature = "tokenizers")]
    pub(super) add_prefix_space: Option<bool>,
    /// BERT: whether a text is made lower case.
    #[cfg(feature = "tokenizers")]
    pub(super) do_lower_case: Option<bool>,
    /// BERT: whether accents are removed; by default with `do_lower_case`.
    #[cfg(feature = "tokenizers")]
    pub(super) strip_accents: Option<bool>,
    /// BERT: whether each Chinese character is a word.
    #[cfg(feature = "tokenizers")]
    pub(super) tokenize_chinese_chars: Option<bool>,
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
        let config: Self = serde_json::from_slice(bytes).map_err(|error| TextError::of_json(FILE, &error))?;
        for (name, number) in [("extra_ids", config.extra_ids), ("offset", config.offset)] {
            if let Some(number) = number.filter(|&number| number > MOST_ADDED) {
                let reason = format!("{name} is {number}, and can be at most {MOST_ADDED}");
                return Err(TextError::Malformed { file: FILE.to_owned(), reason });
            }
        }
        Ok(config)
    }

    /// Sets the tokens that the class has by default.
    #[cfg(feature = "tokenizers")]
    pub(super) fn set_default_tokens(&mut self, class: TokenizerClass) {
        // in the order of `named`
        let defaults = match class {
            TokenizerClass::Gpt2 => ["<|endoftext|>", "<|endoftext|>", "<|endoftext|>", "", "", "", ""],
            TokenizerClass::Roberta => ["<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"],
            TokenizerClass::Bert => ["", "", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"],
            _ => return,
        };
        for (token, default) in self.named().into_iter().zip(defaults) {
            if token.is_none() && !default.is_empty() {
                *token = Some(TokenEntry::Name(default.to_owned()));
            }
        }
    }

    /// The tokens with a role.
    #[cfg(feature = "tokenizers")]
    fn named(&mut self) -> [&mut Option<TokenEntry>; 7] {
        [
            &mut self.bos_token,
            &mut self.eos_token,
            &mut self.unk_token,
            &mut self.sep_token,
            &mut self.pad_token,
            &mut self.cls_token,
            &mut self.mask_token,
        ]
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
        // the older name counts where the newer one has nothing
        let extra = [&self.extra_special_tokens, &self.additional_special_tokens].into_iter().flatten();
        let extra = extra.filter(|tokens| !tokens.is_empty()).take(1);
        let extra = extra.flat_map(|tokens| match tokens {
            ExtraTokens::List(tokens) => tokens.iter().collect::<Vec<_>>(),
            ExtraTokens::Named(tokens) => tokens.values().collect(),
        });
        let entries = named.into_iter().flatten().chain(extra);
        entries.map(|entry| Ok(AddedToken { special: true, ..entry.added_token()? })).collect()
    }

    /// The tokens with a role, and the others.
    pub(super) fn roles_and_others(&self) -> Result<(Vec<AddedToken>, Vec<AddedToken>), TextError> {
        let roles = [
            &self.bos_token,
            &self.eos_token,
            &self.unk_token,
            &self.sep_token,
            &self.pad_token,
            &self.cls_token,
            &self.mask_token,
            &self.mask_token_sent,
        ];
        let mut all = self.special_tokens()?;
        let others = all.split_off(roles.into_iter().flatten().count());
        Ok((all, others))
    }

    /// The tokens of `added_tokens_decoder`, by id.
    pub(super) fn added_tokens(&self) -> Result<Vec<(u32, AddedToken)>, TextError> {
        let entries = self.added_tokens_decoder.iter().flatten();
        entries.map(|(&id, entry)| Ok((id, entry.added_token()?))).collect()
    }
}

impl ExtraTokens {
    fn is_empty(&self) -> bool {
        match self {
            Self::List(tokens) => tokens.is_empty(),
            Self::Named(tokens) => tokens.is_empty(),
        }
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
                Ok(AddedToken {
                    single_word: *single_word,
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
