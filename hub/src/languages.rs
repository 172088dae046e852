//! The languages of a model, from its small files and its name.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::cached::Languages;

/// Maximum length of a file to look into, bytes.
const LIMIT: u64 = 64 << 20;

/// The languages of a folder. `name` is the repository's, `card` what its page says.
pub fn of(folder: &Path, family: &str, name: &str, card: &[String]) -> Languages {
    let repository = name.rsplit('/').next().unwrap_or(name);
    match family {
        "marian" | "vanilla_transformer" => marian(folder, repository, card),
        "m2m_100" | "mbart" => coded(folder, repository),
        "t5" => tasks(folder),
        _ => Languages::default(),
    }
}

/// `source_lang` and `target_lang`, else the end of the name; a target of a group is its tags `>>fra<<`.
fn marian(folder: &Path, repository: &str, card: &[String]) -> Languages {
    let config = json(folder, "tokenizer_config.json").unwrap_or_default();
    let text = |key: &str| config.get(key).and_then(Value::as_str).map(str::to_owned);
    let named = named_pair(repository);
    let side = |key, named: Option<&str>| text(key).or_else(|| Some(named?.to_owned()));
    let source = side("source_lang", named.map(|(source, _)| source));
    let target = side("target_lang", named.map(|(_, target)| target));
    let to = match target {
        Some(code) if is_code(&code) => vec![code],
        _ => tags(folder),
    };
    let from = match source {
        Some(code) if is_code(&code) => vec![code],
        // the languages of a group are known from the page alone
        _ => card.iter().filter(|code| is_code(code) && !to.contains(code)).cloned().collect(),
    };
    match from.is_empty() || to.is_empty() {
        true => Languages::default(),
        false => Languages { from, to },
    }
}

/// The language tags of Marian's vocabulary, such as `fra` of `>>fra<<`.
fn tags(folder: &Path) -> Vec<String> {
    let vocabulary = json(folder, "vocab.json").unwrap_or_default();
    let tokens = vocabulary.as_object().into_iter().flatten().map(|(token, _)| token);
    let mut tags: Vec<String> = tokens
        .filter_map(|token| Some(token.strip_prefix(">>")?.strip_suffix("<<")?.to_owned()))
        .filter(|tag| !tag.is_empty())
        .collect();
    tags.sort();
    tags
}

/// The special tokens of languages: `__fr__`, `fra_Latn`, `fr_XX`.
fn coded(folder: &Path, repository: &str) -> Languages {
    let mut codes: Vec<String> = Vec::new();
    for file in ["special_tokens_map.json", "tokenizer_config.json", "added_tokens.json", "tokenizer.json"] {
        if let Some(json) = json(folder, file) {
            collect(&json, &mut codes);
        }
        if !codes.is_empty() {
            break;
        }
    }
    codes.sort();
    codes.dedup();
    let only =
        |code: &str| codes.iter().filter(|full| full.split('_').next() == Some(code)).cloned().collect();
    let pair = named_pair(repository).map(|(from, to)| Languages { from: only(from), to: only(to) });
    match pair.filter(|pair| !pair.from.is_empty() && !pair.to.is_empty()) {
        Some(pair) => pair,
        None if repository.contains("one-to-many") => Languages { from: only("en"), to: codes },
        None if repository.contains("many-to-one") => Languages { to: only("en"), from: codes },
        None => Languages { from: codes.clone(), to: codes },
    }
}

/// Collects language tokens among all texts and keys of a small tree, or of a tokenizer's added tokens.
fn collect(json: &Value, codes: &mut Vec<String>) {
    match json {
        Value::String(text) => codes.extend(language_token(text)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, codes)),
        Value::Object(entries) => {
            for (key, value) in entries {
                codes.extend(language_token(key));
                // "model" is the vocabulary of tokenizer.json, with pieces that look like codes
                if !["model", "src_lang", "tgt_lang"].contains(&&**key) {
                    collect(value, codes);
                }
            }
        }
        _ => {}
    }
}

fn language_token(token: &str) -> Option<String> {
    if let Some(code) = token.strip_prefix("__").and_then(|rest| rest.strip_suffix("__")) {
        return (2..=3).contains(&code.len()).then(|| code.to_owned());
    }
    let (language, place) = token.split_once('_')?;
    let lower = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase());
    let upper = |text: &str| text.bytes().all(|byte| byte.is_ascii_uppercase());
    let script = place.len() == 4 && upper(&place[..1]) && lower(&place[1..]);
    let fits = lower(language)
        && ((language.len() == 2 && place.len() == 2 && upper(place)) || (language.len() == 3 && script));
    fits.then(|| token.to_owned())
}

/// `translation_en_to_de` of `task_specific_params`.
fn tasks(folder: &Path) -> Languages {
    let config = json(folder, "config.json").unwrap_or_default();
    let mut languages = Languages::default();
    for (task, _) in config.get("task_specific_params").and_then(Value::as_object).into_iter().flatten() {
        let pair = task.strip_prefix("translation_").and_then(|pair| pair.split_once("_to_"));
        if let Some((from, to)) = pair {
            for (code, list) in [(from, &mut languages.from), (to, &mut languages.to)] {
                if !list.iter().any(|known| known == code) {
                    list.push(code.to_owned());
                }
            }
        }
    }
    languages
}

/// The languages at the end of a name: `en` and `fr` of `opus-mt-en-fr`.
fn named_pair(repository: &str) -> Option<(&str, &str)> {
    let mut parts = repository.rsplit('-');
    let (target, source) = (parts.next()?, parts.next()?);
    (is_code(source) && is_code(target)).then_some((source, target))
}

/// Whether a text is the code of one language: `en`, `fra`, `pt_BR`, `zh-Hant`, not a group (`ROMANCE`, `roa`).
fn is_code(text: &str) -> bool {
    /// Codes of groups in the names of OPUS-MT.
    const GROUPS: &str = " aav afa alv art bat bnt cau ccs cel cpf cpp cus dra euq fiu gem gmq gmw grk iir inc ine ira itc \
        map mkh mul ngf nic phi poz pqe roa sal sem sit sla smi taw tmu trk tut urj wen zle zls zlw zlt zhx ";
    let mut parts = text.split(['_', '-']);
    let language = parts.next().unwrap_or_default();
    (2..=3).contains(&language.len())
        && language.bytes().all(|byte| byte.is_ascii_lowercase())
        && !GROUPS.contains(&format!(" {language} "))
        && parts.all(|part| {
            (2..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
}

/// A file of a folder as JSON; `None` if it is not there or damaged: then the languages are unknown.
fn json(folder: &Path, name: &str) -> Option<Value> {
    let path = folder.join(name);
    (fs::metadata(&path).ok()?.len() <= LIMIT).then_some(())?;
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_languages_are_told_from_others() {
        let found = |token| language_token(token);
        assert_eq!(found("__fr__").as_deref(), Some("fr"));
        assert_eq!(found("fr_XX").as_deref(), Some("fr_XX"));
        assert_eq!(found("zho_Hant").as_deref(), Some("zho_Hant"));
        for other in ["<s>", "bos_token", "</s>", "src_lang", "a_B", "__init__", "unk_id", "Fr_XX"] {
            assert_eq!(found(other), None, "{other}");
        }
    }

    #[test]
    fn names_tell_pairs_and_groups_tell_none() {
        assert_eq!(named_pair("opus-mt-en-fr"), Some(("en", "fr")));
        assert_eq!(named_pair("opus-mt-tc-big-en-ko"), Some(("en", "ko")));
        assert_eq!(named_pair("mbart-large-en-ro"), Some(("en", "ro")));
        for group in ["opus-mt-en-ROMANCE", "opus-mt-mul-en", "opus-mt-gmw-gmw", "m2m100_418M", "opus-mt"] {
            assert_eq!(named_pair(group), None, "{group}");
        }
    }
}
