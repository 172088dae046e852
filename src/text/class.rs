//! The tokenizer classes of Hugging Face: what each does around its pieces.

use super::config::TokenizerConfig;
use super::language_codes::{M2M_100, MBART, MBART_50, NLLB, WMT_21};

/// A tokenizer class of Hugging Face, after which a folder's tokenizer behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenizerClass {
    /// `MarianTokenizer`
    Marian,
    /// `T5Tokenizer`
    T5,
    /// `PegasusTokenizer`
    Pegasus,
    /// `MBartTokenizer`: 25 languages.
    MBart,
    /// `MBart50Tokenizer`: 52 languages.
    MBart50,
    /// `M2M100Tokenizer`: 100 languages.
    M2M100,
    /// `NllbTokenizer`: 202 languages.
    Nllb,
    /// Any other, such as those of BART, BERT and GPT-2: `tokenizer.json` says everything about it.
    Other,
}

/// Where the source language's token stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourcePlace {
    /// `code … </s>`
    Before,
    /// `… </s> code`
    After,
}

/// Which token of a translation says what language it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetRole {
    /// The first after the start token: `forced_bos_token_id`.
    ForcedBos,
    /// The start token itself: `decoder_start_token_id`.
    DecoderStart,
}

impl TokenizerClass {
    /// The class that a file calls by this name; `MBartTokenizerFast` and `MBartTokenizer` are the same. `None` for names
    /// that say nothing about the family.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name.strip_suffix("Fast").unwrap_or(name) {
            "PreTrainedTokenizer" | "TokenizersBackend" => return None,
            "MarianTokenizer" => Self::Marian,
            "T5Tokenizer" => Self::T5,
            "PegasusTokenizer" => Self::Pegasus,
            "MBartTokenizer" => Self::MBart,
            "MBart50Tokenizer" => Self::MBart50,
            "M2M100Tokenizer" => Self::M2M100,
            "NllbTokenizer" => Self::Nllb,
            _ => Self::Other,
        })
    }

    /// The class of a `model_type`, where nothing names one.
    pub fn of_model_type(model_type: &str) -> Self {
        match model_type {
            "marian" => Self::Marian,
            "t5" => Self::T5,
            "pegasus" => Self::Pegasus,
            "mbart" => Self::MBart,
            "m2m_100" => Self::M2M100,
            _ => Self::Other,
        }
    }

    /// Its SentencePiece model's file, if it has one alone.
    pub fn sentencepiece_file(self) -> Option<&'static str> {
        match self {
            Self::T5 | Self::Pegasus => Some("spiece.model"),
            Self::MBart | Self::MBart50 | Self::M2M100 | Self::Nllb => Some("sentencepiece.bpe.model"),
            Self::Marian | Self::Other => None,
        }
    }

    /// Whether Hugging Face's class of this name reads `tokenizer.json`.
    pub fn reads_json(self) -> bool {
        !matches!(self, Self::Marian | Self::M2M100)
    }

    /// The language tokens that come with the class rather than with a file, in the order of their ids.
    pub(super) fn language_tokens(self, config: &TokenizerConfig) -> Vec<String> {
        let codes = match self {
            Self::MBart => MBART,
            Self::MBart50 => MBART_50,
            Self::M2M100 if config.language_codes.as_deref() == Some("wmt21") => WMT_21,
            Self::M2M100 => M2M_100,
            Self::Nllb => NLLB,
            Self::Marian | Self::T5 | Self::Pegasus | Self::Other => "",
        };
        let token = |code| if self == Self::M2M100 { format!("__{code}__") } else { String::from(code) };
        codes.split_whitespace().map(token).collect()
    }

    /// The language code in a special token of this class: `en` in `__en__`; `en_XX` and `eng_Latn` are codes
    /// themselves.
    pub(super) fn language_code(self, token: &str) -> Option<&str> {
        let (language, script) = token.split_once('_').unwrap_or((token, ""));
        let lower = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase());
        let upper = |text: &str| text.bytes().all(|byte| byte.is_ascii_uppercase());
        match self {
            Self::MBart | Self::MBart50 => {
                let fits = (2..=3).contains(&language.len()) && lower(language);
                Some(token).filter(|_| fits && script.len() == 2 && upper(script))
            }
            Self::Nllb => {
                let fits = language.len() == 3 && lower(language) && script.len() == 4 && script.is_ascii();
                Some(token).filter(|_| fits && upper(&script[..1]) && lower(&script[1..]))
            }
            Self::M2M100 => {
                let code = token.strip_prefix("__")?.strip_suffix("__")?;
                Some(code).filter(|code| !code.is_empty())
            }
            Self::Marian | Self::T5 | Self::Pegasus | Self::Other => None,
        }
    }

    /// Where source and target languages are said, and the source language of a text for which none is given; `None`
    /// for a class without language tokens.
    pub(super) fn translation(
        self,
        config: &TokenizerConfig,
    ) -> Option<(SourcePlace, TargetRole, &'static str)> {
        match self {
            Self::MBart => Some((SourcePlace::After, TargetRole::DecoderStart, "en_XX")),
            Self::MBart50 => Some((SourcePlace::Before, TargetRole::ForcedBos, "en_XX")),
            Self::M2M100 => Some((SourcePlace::Before, TargetRole::ForcedBos, "en")),
            Self::Nllb => {
                let legacy = config.legacy_behaviour.unwrap_or(false);
                let place = if legacy { SourcePlace::After } else { SourcePlace::Before };
                Some((place, TargetRole::ForcedBos, "eng_Latn"))
            }
            Self::Marian | Self::T5 | Self::Pegasus | Self::Other => None,
        }
    }
}
