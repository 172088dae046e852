//! The languages of a folder, without its weights and without building its tokenizer.

use std::collections::BTreeMap;

use super::error::ModelError;
use super::files::ModelFiles;
use super::json::JsonObject;
use super::tokenizer::{CONFIG, FILE_LIMIT, class, tasks};
use crate::sorting;
use crate::text::{Task, TokenizerClass};

/// The languages that a model's files name, in the model's own codes: `en`, `eng_Latn`, `en_XX`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelLanguages {
    /// Languages that the model reads; empty if the files name none.
    pub from: Vec<String>,
    /// Languages that the model writes; empty if the files name none.
    pub to: Vec<String>,
}

/// Reads the languages of a folder from its small files.
///
/// * Marian: `source_lang` and `target_lang` of `tokenizer_config.json`; the tags of `vocab.json` (`>>fra<<`), if it
///   has any, are the languages to write
/// * mBART, M2M100, NLLB: the languages of the tokenizer's class
/// * T5: the `translation_XX_to_YY` of `task_specific_params`
///
/// Errors: a [`ModelError`] if one of these files cannot be read, or is damaged.
pub fn read_languages(files: &ModelFiles) -> Result<ModelLanguages, ModelError> {
    let object = |name| files.has(name).then(|| JsonObject::read(files, name)).transpose();
    let (model, tokenizer) = (object("config.json")?, object(CONFIG)?);
    let get = |name: &'static str| -> Result<Option<String>, ModelError> {
        tokenizer.as_ref().map(|object| object.get(name)).transpose().map(Option::flatten)
    };
    let tasks = model.as_ref().map(tasks).unwrap_or_default();
    let mut languages = ModelLanguages::default();
    for (from, to) in tasks.iter().filter_map(Task::languages) {
        for (list, code) in [(&mut languages.from, from), (&mut languages.to, to)] {
            if !list.iter().any(|listed| listed == code) {
                list.push(code.to_owned());
            }
        }
    }
    if !languages.to.is_empty() {
        return Ok(languages);
    }
    let class = class(files, model.as_ref(), tokenizer.as_ref())?;
    let codes: Vec<String> =
        class.language_codes(get("language_codes")?.as_deref()).map(str::to_owned).collect();
    if !codes.is_empty() {
        return Ok(ModelLanguages { from: codes.clone(), to: codes });
    }
    let from = get("source_lang")?.into_iter().collect();
    let tags = if class == TokenizerClass::Marian { tags(files)? } else { Vec::new() };
    let to = if tags.is_empty() { get("target_lang")?.into_iter().collect() } else { tags };
    Ok(ModelLanguages { from, to })
}

/// The languages of the tags of `vocab.json`, or of `target_vocab.json`, in the order of their ids.
fn tags(files: &ModelFiles) -> Result<Vec<String>, ModelError> {
    const VOCABULARY: &str = "vocab.json";
    if !files.has(VOCABULARY) {
        return Ok(Vec::new());
    }
    let bytes = files.read(VOCABULARY, FILE_LIMIT)?;
    let vocabulary: BTreeMap<String, u32> = serde_json::from_slice(&bytes)
        .map_err(|source| ModelError::Json { file: files.file_label(VOCABULARY), source })?;
    let tag = |(token, id): (&String, &u32)| {
        let code = token.strip_prefix(">>")?.strip_suffix("<<")?;
        Some((*id, code.to_owned()))
    };
    let mut tags: Vec<(u32, String)> = vocabulary.iter().filter_map(tag).collect();
    sorting::sort(&mut tags);
    Ok(tags.into_iter().map(|(_, code)| code).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn languages(files: &[(&'static str, &'static str)]) -> [String; 2] {
        let files = files.iter().map(|(name, text)| (*name, text.as_bytes()));
        let ModelLanguages { from, to } =
            read_languages(&ModelFiles::memory("a model", files)).expect("files");
        [from.join(" "), to.join(" ")]
    }

    #[test]
    fn marian_s_are_in_its_tokenizer_s_configuration_and_in_its_tags() {
        let config = ("config.json", r#"{"model_type": "marian"}"#);
        let pair = ("tokenizer_config.json", r#"{"source_lang": "en", "target_lang": "fr"}"#);
        assert_eq!(languages(&[config, pair]), ["en", "fr"]);
        let tagged = ("vocab.json", r#"{">>por<<": 7, "a": 1, ">>fra<<": 2, ">>x": 9}"#);
        assert_eq!(languages(&[config, pair, tagged]), ["en", "fra por"]);
        assert_eq!(languages(&[config]), ["", ""]);
    }

    #[test]
    fn those_of_multilingual_families_are_the_class_s() {
        let [from, to] = languages(&[
            ("config.json", r#"{"model_type": "m2m_100"}"#),
            ("tokenizer_config.json", r#"{"tokenizer_class": "NllbTokenizerFast"}"#),
        ]);
        assert_eq!(from, to);
        assert!(from.starts_with("ace_Arab ") && from.contains(" kor_Hang "), "{from}");
        let wmt = r#"{"tokenizer_class": "M2M100Tokenizer", "language_codes": "wmt21"}"#;
        assert_eq!(languages(&[("tokenizer_config.json", wmt)])[0], "en ha is ja cs ru zh de");
        assert_eq!(languages(&[("config.json", r#"{"model_type": "mbart"}"#)])[1].split(' ').count(), 25);
    }

    #[test]
    fn t5_s_are_its_tasks() {
        let tasks = r#"{"model_type": "t5", "task_specific_params": {
            "translation_en_to_de": {"prefix": "translate English to German: "},
            "translation_en_to_fr": {"prefix": "translate English to French: "},
            "summarization": {"prefix": "summarize: "}}}"#;
        assert_eq!(languages(&[("config.json", tasks)]), ["en", "de fr"]);
    }

    #[test]
    fn damaged_files_are_named() {
        let files = [("config.json", &br#"{"model_type": "marian"}"#[..]), ("vocab.json", b"{")];
        let error = read_languages(&ModelFiles::memory("a model", files)).expect_err("it ends too early");
        assert!(error.to_string().contains("vocab.json"), "{error}");
    }
}
