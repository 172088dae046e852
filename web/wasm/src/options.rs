//! Options of a call: from JavaScript's names to Hugging Face's, which the library uses.

use js_sys::{JSON, Object};
use serde_json::{Map, Value};
use wasm_bindgen::prelude::*;
use wordloom::json_problem::json_problem;
use wordloom::model::generation_config::{GenerationConfig, JsonObject, UnknownKeys};
use wordloom::transformer::{GenerateError, refuse_idle};
use wordloom::{Transformer, TranslateOptions};

use crate::failure::{Failure, OPTIONS, message_of};

/// JavaScript's names, and the library's.
const NAMES: [(&str, &str); 26] = [
    ("beams", "num_beams"),
    ("nBest", "num_return_sequences"),
    ("lengthPenalty", "length_penalty"),
    ("earlyStopping", "early_stopping"),
    ("maxLength", "max_length"),
    ("maxNewTokens", "max_new_tokens"),
    ("minLength", "min_length"),
    ("minNewTokens", "min_new_tokens"),
    ("badWordsIds", "bad_words_ids"),
    ("noRepeatNgramSize", "no_repeat_ngram_size"),
    ("repetitionPenalty", "repetition_penalty"),
    ("renormalizeLogits", "renormalize_logits"),
    ("shortlist", "shortlist"),
    ("forcedBosTokenId", "forced_bos_token_id"),
    ("forcedEosTokenId", "forced_eos_token_id"),
    ("decoderStartTokenId", "decoder_start_token_id"),
    ("bosTokenId", "bos_token_id"),
    ("eosTokenId", "eos_token_id"),
    ("padTokenId", "pad_token_id"),
    ("sample", "do_sample"),
    ("temperature", "temperature"),
    ("topK", "top_k"),
    ("topP", "top_p"),
    ("seed", "seed"),
    // of messages only
    ("inputIds", "input_ids"),
    ("glossary", "constraints"),
];
/// Number of names in front that are options of a search, with those of sampling, and without.
const OF_SEARCH: usize = 24;
const WITHOUT_SAMPLING: usize = 19;

/// JavaScript's name of a library option.
pub fn js_name(ours: &str) -> &str {
    NAMES.iter().find(|(_, name)| *name == ours).map_or(ours, |(name, _)| name)
}

/// A message of the library, with JavaScript's names of options.
pub fn js_names(message: &str) -> String {
    // a name that is the end of another follows it
    NAMES.iter().fold(message.to_owned(), |message, (name, ours)| message.replace(ours, name))
}

/// The plain values of an object; `undefined` and functions are left out.
pub fn object(value: &JsValue) -> Result<Map<String, Value>, Failure> {
    if value.is_undefined() || value.is_null() {
        return Ok(Map::new());
    }
    let Some(object) = value.dyn_ref::<Object>() else {
        return Err(Failure::input("the options are not an object"));
    };
    // JSON would turn a number that is not finite into `null`, which means "not set"
    for entry in Object::entries(object).iter() {
        let entry: js_sys::Array = entry.unchecked_into();
        if let (Some(name), Some(number)) = (entry.get(0).as_string(), entry.get(1).as_f64())
            && !number.is_finite()
        {
            return Err(Failure::input(format!("the option {name:?} is {number}; expected a finite number")));
        }
    }
    let text = JSON::stringify(value); // which has no form for a `BigInt`
    let text: String =
        text.map_err(|error| Failure::input(format!("the options: {}", message_of(&error))))?.into();
    serde_json::from_str(&text)
        .map_err(|error| Failure::input(format!("the options: {}", json_problem(&error))))
}

/// The options of a translation: its languages, and those of its search.
///
/// * `samples`: whether the call can sample
pub fn translation_options(
    mut options: Map<String, Value>,
    samples: bool,
) -> Result<TranslateOptions, Failure> {
    let mut language = |name| take(&mut options, name, "a language code");
    let (source_language, target_language) = (language("sourceLanguage")?, language("targetLanguage")?);
    let task = take(&mut options, "task", "the name of a task")?;
    let generation = generation(options, samples)?;
    Ok(TranslateOptions { generation, source_language, target_language, task, ..TranslateOptions::default() })
}

/// The options of a search; `samples` as for [`translation_options`].
pub fn generation(options: Map<String, Value>, samples: bool) -> Result<GenerationConfig, Failure> {
    let mut renamed = Map::new();
    for (name, value) in options {
        match NAMES[..OF_SEARCH].iter().find(|(known, _)| *known == name) {
            Some((_, ours)) => renamed.insert((*ours).to_owned(), value),
            None => {
                let offered = if samples { OF_SEARCH } else { WITHOUT_SAMPLING };
                let known: Vec<&str> = NAMES[..offered].iter().map(|(name, _)| *name).collect();
                return Err(Failure::input(format!(
                    "there is no option {name:?}; there are {}",
                    known.join(", ")
                )));
            }
        };
    }
    let text = Value::Object(renamed).to_string();
    let json = JsonObject::parse(OPTIONS, text.as_bytes())?;
    Ok(GenerationConfig::from_json(&json, UnknownKeys::Reject)?)
}

/// Refuses options of a call that this model's search would ignore.
pub fn refuse_ignored(
    options: &GenerationConfig,
    transformer: &Transformer,
    input_ids: &[u32],
) -> Result<(), Failure> {
    let defaults = transformer.generation_config();
    let refused = refuse_idle(options, defaults, transformer.config(), input_ids);
    Ok(refused.map_err(GenerateError::from)?)
}

/// Takes a required value out of an object.
pub fn take<T: serde::de::DeserializeOwned>(
    object: &mut Map<String, Value>,
    name: &str,
    expected: &str,
) -> Result<T, Failure> {
    // for any type, which keeps the code small
    #[inline(never)]
    fn taken(object: &mut Map<String, Value>, name: &str) -> Value {
        object.remove(name).unwrap_or_default()
    }
    #[inline(never)]
    fn refused(name: &str, expected: &str) -> Failure {
        Failure::input(format!("{name:?} has to be {expected}"))
    }
    serde_json::from_value(taken(object, name)).map_err(|_| refused(name, expected))
}
