//! The tokenizer classes of Hugging Face and their differences.

use super::config::TokenizerConfig;
use super::language_codes::{M2M_100, MBART, MBART_50, NLLB, WMT_21};

/// The tokenizer class of Hugging Face whose behaviour a folder's tokenizer follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenizerClass {
    /// `MarianTokenizer`
    Marian,
    /// `T5Tokenizer`
    T5,
    /// `ByT5Tokenizer`, which has no vocabulary.
    ByT5,
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
    /// `GPT2Tokenizer`
    Gpt2,
    /// `RobertaTokenizer`, and those of BART, LED and Longformer, which are the same.
    Roberta,
    /// `BertTokenizer`, and DistilBERT's, which is the same.
    Bert,
    /// Any other class. `tokenizer.json` describes it completely.
    Other,
}

/// Position of the source language's token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourcePlace {
    /// `code … </s>`
    Before,
    /// `… </s> code`
    After,
}

/// The token of a translation that selects its language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetRole {
    /// The first after the start token: `forced_bos_token_id`.
    ForcedBos,
    /// The start token itself: `decoder_start_token_id`.
    DecoderStart,
}

impl TokenizerClass {
    /// The class of this name. `MBartTokenizerFast` and `MBartTokenizer` are the same. `None` for generic names, which do not
    /// identify a family.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name.strip_suffix("Fast").unwrap_or(name) {
            "PreTrainedTokenizer" | "TokenizersBackend" => return None,
            "MarianTokenizer" => Self::Marian,
            "T5Tokenizer" | "MT5Tokenizer" => Self::T5,
            "ByT5Tokenizer" => Self::ByT5,
            "PegasusTokenizer" => Self::Pegasus,
            "MBartTokenizer" => Self::MBart,
            "MBart50Tokenizer" => Self::MBart50,
            "M2M100Tokenizer" => Self::M2M100,
            "NllbTokenizer" => Self::Nllb,
            "GPT2Tokenizer" => Self::Gpt2,
            "RobertaTokenizer" | "BartTokenizer" | "LEDTokenizer" | "LongformerTokenizer" => Self::Roberta,
            "BertTokenizer" | "DistilBertTokenizer" => Self::Bert,
            _ => Self::Other,
        })
    }

    /// The class for a `model_type`, if no file names a class.
    pub fn of_model_type(model_type: &str) -> Self {
        match model_type {
            "marian" => Self::Marian,
            "t5" | "longt5" | "mt5" | "umt5" => Self::T5,
            "pegasus" | "bigbird_pegasus" => Self::Pegasus,
            "mbart" => Self::MBart,
            "m2m_100" => Self::M2M100,
            "gpt2" => Self::Gpt2,
            "bart" | "led" | "roberta" => Self::Roberta,
            "bert" | "distilbert" => Self::Bert,
            _ => Self::Other,
        }
    }

    /// The file of its SentencePiece model, if the class has exactly one.
    pub fn sentencepiece_file(self) -> Option<&'static str> {
        match self {
            Self::T5 | Self::Pegasus => Some("spiece.model"),
            Self::MBart | Self::MBart50 | Self::M2M100 | Self::Nllb => Some("sentencepiece.bpe.model"),
            Self::Marian | Self::ByT5 | Self::Gpt2 | Self::Roberta | Self::Bert | Self::Other => None,
        }
    }

    /// Whether `tokenizer.json`, if there is one, describes it: the class knows no languages and has no SentencePiece model.
    pub(super) fn is_described_by_json(self) -> bool {
        matches!(self, Self::Gpt2 | Self::Roberta | Self::Bert | Self::Other)
    }

    /// The files of its vocabulary in folders without `tokenizer.json`, for [`FastTokenizer`](super::FastTokenizer)s.
    pub fn older_files(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Gpt2 | Self::Roberta => Some(&["vocab.json", "merges.txt"]),
            Self::Bert => Some(&["vocab.txt"]),
            _ => None,
        }
    }

    /// Whether Hugging Face's class reads `tokenizer.json`.
    pub fn reads_json(self) -> bool {
        !matches!(self, Self::Marian | Self::M2M100 | Self::ByT5)
    }

    /// The language codes that the class defines itself, without a file, in the order of their ids. `set` is
    /// `language_codes` of `tokenizer_config.json`: M2M100's set has a name.
    pub fn language_codes(self, set: Option<&str>) -> impl Iterator<Item = &'static str> {
        let codes = match self {
            Self::MBart => MBART,
            Self::MBart50 => MBART_50,
            Self::M2M100 if set == Some("wmt21") => WMT_21,
            Self::M2M100 => M2M_100,
            Self::Nllb => NLLB,
            _ => "",
        };
        codes.split_whitespace()
    }

    /// The tokens of [`language_codes`](Self::language_codes).
    pub(super) fn language_tokens(self, config: &TokenizerConfig) -> Vec<String> {
        let token = |code| if self == Self::M2M100 { format!("__{code}__") } else { String::from(code) };
        self.language_codes(config.language_codes.as_deref()).map(token).collect()
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
            _ => None,
        }
    }

    /// The position of the source language's token, the role of the target language's token, and the default source
    /// language. `None` for a class without language tokens.
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
            _ => None,
        }
    }
}
