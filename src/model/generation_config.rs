//! Options of a search: the keys of `generation_config.json` and of requests.

pub use crate::decode::EarlyStopping;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::config::Family;
use super::error::ModelError;
use super::files::ModelFiles;
pub use super::json::JsonObject;
use super::json::JsonValue;
use super::student_options::configuration;
use crate::json_problem::excerpt;

/// Declares [`GenerationConfig`] and the code for each key, so that no key is forgotten.
macro_rules! generation_config {
    ($($(#[$doc:meta])* $key:ident: $type:ty,)*) => {
        /// Options of a search, with the names of Hugging Face's `GenerationConfig`. `None` means the search's default.
        #[derive(Clone, Debug, Default, PartialEq, Serialize)]
        pub struct GenerationConfig {
            $($(#[$doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $key: Option<$type>,)*
        }

        impl GenerationConfig {
            /// The supported keys.
            pub const KEYS: &[&str] = &[$(stringify!($key)),*];

            fn read(json: &JsonObject) -> Result<Self, ModelError> {
                Ok(Self { $($key: json.get(stringify!($key))?,)* })
            }

            /// The same without these keys.
            pub fn without(self, keys: &[&str]) -> Self {
                Self { $($key: self.$key.filter(|_| !keys.contains(&stringify!($key))),)* }
            }

            /// Takes missing options from `defaults`.
            pub fn merged_over(self, defaults: &Self) -> Self {
                Self { $($key: self.$key.or_else(|| defaults.$key.clone()),)* }
            }
        }
    };
}

generation_config! {
    /// Number of beams; 1 is greedy search, or sampling.
    num_beams: usize,
    /// Number of returned hypotheses, best first, or of samples.
    num_return_sequences: usize,
    /// Whether to sample tokens; otherwise the next keys have no effect.
    do_sample: bool,
    /// Divisor of the scores for sampling: below 1, likely tokens become likelier.
    temperature: f32,
    /// Number of best tokens to sample from; 0 for all.
    top_k: usize,
    /// Total probability of the best tokens to sample from; 1 for all.
    top_p: f32,
    /// Seed of the random numbers. Not a key of Hugging Face's.
    seed: u64,
    /// Not supported while `do_sample` is on.
    min_p: f32,
    /// Only 1 is supported with `do_sample`.
    typical_p: f32,
    /// Not supported while `do_sample` is on, but for 0.
    epsilon_cutoff: f32,
    /// Not supported while `do_sample` is on, but for 0.
    eta_cutoff: f32,
    /// Not supported while `do_sample` is on.
    top_h: f32,
    /// Exponent of length: a finished hypothesis' score is its log-probability divided by its number of tokens to this
    /// power.
    length_penalty: f32,
    /// Time when a beam search may stop.
    early_stopping: EarlyStopping,
    /// Maximum output tokens, including start token or prompt.
    max_length: usize,
    /// Maximum output tokens, without start token or prompt; overrides `max_length`.
    max_new_tokens: usize,
    /// Minimum output tokens before the end token, including start token or prompt.
    min_length: usize,
    /// Minimum output tokens before the end token, without start token or prompt; overrides `min_length`.
    min_new_tokens: usize,
    /// Forbidden token sequences.
    bad_words_ids: Vec<Vec<u32>>,
    /// Size of n-grams that may occur only once; 0 for no limit.
    no_repeat_ngram_size: usize,
    /// Size of n-grams of the source that may not occur in the output; 0 for no limit.
    encoder_no_repeat_ngram_size: usize,
    /// Divisor of positive and factor of negative scores of repeated tokens; 1 has no effect. Keskar et al. 2019,
    /// section 4.1.
    repetition_penalty: f32,
    /// Whether to normalize log-probabilities again after banning tokens.
    renormalize_logits: bool,
    /// Whether the output layer computes only the tokens of the model's shortlist, if it has one: by default it does. Not
    /// a key of Hugging Face's.
    shortlist: bool,
    /// The first token after the start token.
    forced_bos_token_id: u32,
    /// Forced tokens at `max_length`: the last token must be one of them.
    forced_eos_token_id: TokenIds,
    /// The decoder's start token.
    decoder_start_token_id: u32,
    /// Token that begins a sentence.
    bos_token_id: u32,
    /// Tokens that end a sentence.
    eos_token_id: TokenIds,
    /// The padding token.
    pad_token_id: u32,
}

/// `early_stopping` is `true`, `false` or `"never"` in JSON.
impl TryFrom<Value> for EarlyStopping {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        match value {
            Value::Bool(true) => Ok(Self::Always),
            Value::Bool(false) => Ok(Self::Heuristic),
            Value::String(text) if text == "never" => Ok(Self::Never),
            _ => Err(Self::EXPECTED),
        }
    }
}

impl From<EarlyStopping> for Value {
    fn from(early_stopping: EarlyStopping) -> Self {
        match early_stopping {
            EarlyStopping::Always => true.into(),
            EarlyStopping::Heuristic => false.into(),
            EarlyStopping::Never => "never".into(),
        }
    }
}

impl JsonValue for EarlyStopping {
    const EXPECTED: &'static str = "true, false or \"never\"";
}

/// One token id or several: a number or a list of numbers in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum TokenIds {
    /// A number.
    One(u32),
    /// A list.
    Several(Vec<u32>),
}

impl TokenIds {
    /// The ids.
    pub fn as_slice(&self) -> &[u32] {
        match self {
            Self::One(id) => std::slice::from_ref(id),
            Self::Several(ids) => ids,
        }
    }
}

impl JsonValue for TokenIds {
    const EXPECTED: &'static str = "a token id or a list of token ids";
}

/// The treatment of unknown keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownKeys {
    /// Ignore them, as Hugging Face does: model files contain notes and keys of other tools.
    Ignore,
    /// Report them: in a request, they are spelling mistakes.
    Reject,
}

/// Unsupported keys that change the output, with the number for "off". `null`, `false` and empty values also mean
/// "off".
const UNSUPPORTED: [(&str, f64); 21] = [
    ("num_beam_groups", 1.0),
    ("diversity_penalty", 0.0),
    ("penalty_alpha", 0.0),
    ("dola_layers", 0.0),
    ("encoder_repetition_penalty", 1.0),
    ("exponential_decay_length_penalty", 0.0),
    ("suppress_tokens", 0.0),
    ("begin_suppress_tokens", 0.0),
    ("forced_decoder_ids", 0.0),
    ("force_words_ids", 0.0),
    ("constraints", 0.0),
    ("sequence_bias", 0.0),
    ("remove_invalid_values", 0.0),
    ("token_healing", 0.0),
    ("guidance_scale", 1.0),
    ("watermarking_config", 0.0),
    ("stop_strings", 0.0),
    ("max_time", 0.0),
    ("prompt_lookup_num_tokens", 0.0),
    ("assistant_early_exit", 0.0),
    ("custom_generate", 0.0),
];

/// Keys without effect on the output: caching, Python's return values, notes.
const HARMLESS: [&str; 26] = [
    "use_cache",
    "cache_implementation",
    "cache_config",
    "return_legacy_cache",
    "prefill_chunk_size",
    "low_memory",
    "compile_config",
    "disable_compile",
    "synced_gpus",
    "is_assistant",
    "num_assistant_tokens",
    "num_assistant_tokens_schedule",
    "assistant_confidence_threshold",
    "assistant_lookbehind",
    "target_lookbehind",
    "max_matching_ngram_size",
    "output_attentions",
    "output_hidden_states",
    "output_scores",
    "output_logits",
    "return_dict_in_generate",
    "transformers_version",
    "trust_remote_code",
    "_from_model_config",
    "_commit_hash",
    "_original_object_hash",
];

/// The unknown token of Marian's SentencePiece vocabularies, which Marian never generates by default.
const MARIAN_UNKNOWN: u32 = 1;
const FILE: &str = "generation_config.json";
/// Tokens that a file may give as a negative number, for "none".
pub(super) const MAY_BE_NONE: [&str; 3] = ["bos_token_id", "eos_token_id", "pad_token_id"];

impl GenerationConfig {
    /// The label of the file that [`GenerationConfig::from_files`] reads.
    pub fn file(files: &ModelFiles) -> String {
        files.file_label(if files.has(FILE) { FILE } else { "config.json" })
    }

    /// Reads `generation_config.json`, or else the same keys of `config.json`, as `transformers` does. Errors as
    /// [`JsonObject::read`] and [`GenerationConfig::from_json`].
    pub fn from_files(files: &ModelFiles) -> Result<Self, ModelError> {
        if files.has(FILE) {
            let json = JsonObject::read(files, FILE)?.without_negative(&MAY_BE_NONE);
            return Self::from_json(&json, UnknownKeys::Ignore);
        }
        let json = configuration(files)?.without_negative(&MAY_BE_NONE);
        let mut config = Self::from_json(&json, UnknownKeys::Ignore)?;
        let model_type: Option<String> = json.get("model_type")?;
        if model_type.as_deref() == Some(Family::Firefox.model_type()) && !json.contains("bad_words_ids") {
            config.bad_words_ids = Some(vec![vec![MARIAN_UNKNOWN]]);
        }
        // the key of BART's first files
        if json.get("force_bos_token_to_be_generated")? == Some(true) {
            config.forced_bos_token_id = config.bos_token_id;
        }
        Ok(config)
    }

    /// The same without begin, end and padding tokens that a vocabulary does not have. Files of models with small vocabularies often have
    /// those of their class; no search can come to them.
    pub(super) fn within(mut self, vocabulary: usize) -> Self {
        let is_known = |id: &u32| (*id as usize) < vocabulary;
        self.bos_token_id = self.bos_token_id.filter(is_known);
        self.pad_token_id = self.pad_token_id.filter(is_known);
        self.eos_token_id = self.eos_token_id.and_then(|ids| {
            let known: Vec<u32> = ids.as_slice().iter().copied().filter(is_known).collect();
            (!known.is_empty()).then_some(TokenIds::Several(known))
        });
        self
    }

    /// Reads the options from a JSON object: a file or a request. The search checks the values after options are
    /// merged.
    ///
    /// Errors: [`ModelError::InvalidValue`] for a wrong type; [`ModelError::Unsupported`] for an unsupported option
    /// that changes the output; [`ModelError::UnknownKey`] if `unknown` rejects unknown keys.
    pub fn from_json(json: &JsonObject, unknown: UnknownKeys) -> Result<Self, ModelError> {
        for (key, value) in json.entries() {
            if let Some(&(_, off)) = UNSUPPORTED.iter().find(|(unsupported, _)| *unsupported == key) {
                if !is_off(value, off) {
                    let off = if off == 0.0 { "leave it out" } else { "1, or leave it out" };
                    return Err(json.unsupported(key, value, off));
                }
            } else if unknown == UnknownKeys::Reject && !Self::KEYS.contains(&key) && !HARMLESS.contains(&key)
            {
                return Err(ModelError::UnknownKey { file: json.file().to_owned(), key: excerpt(key) });
            }
        }
        Self::read(json)
    }
}

/// Whether a value switches its option off.
fn is_off(value: &Value, off: f64) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(off),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
    }
}
