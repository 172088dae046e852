//! The languages of a model in the cache.

use std::path::Path;

use wordloom::model::files::ModelFiles;
use wordloom::model::read_languages;

use crate::{Language, Languages};

/// The languages of a folder: those that its files name, else those in the model's name, such as `opus-mt-en-fr`.
///
/// Both lists are empty if neither says anything, or if a file that would say it is damaged: the error comes when the
/// model is opened.
pub fn languages_of(folder: &Path, name: &str) -> Languages {
    let named = in_name(name);
    let read = ModelFiles::directory(folder).and_then(|files| read_languages(&files)).unwrap_or_default();
    let known = |codes: Vec<String>, otherwise: Vec<String>| {
        let known = codes.iter().any(|code| Language::of_model(code).is_some());
        if known || otherwise.is_empty() { codes } else { otherwise }
    };
    Languages { from: known(read.from, named.from), to: known(read.to, named.to) }
}

/// The languages of the built-in model.
#[must_use]
pub fn built_in_languages() -> Languages {
    Languages { from: vec!["en".into()], to: vec!["de".into()] }
}

/// The pair at the end of a model's name: `opus-mt-en-fr`, `opus-mt-tc-big-en-pt`, `firefox:en-zh-Hans:tiny`.
fn in_name(name: &str) -> Languages {
    let name = name.split('@').next().unwrap_or(name);
    let pair = match name.strip_prefix("firefox:") {
        Some(pair) => pair.split(':').next().unwrap_or(pair),
        None => match name.rsplit('/').next().unwrap_or(name).split_once("opus-mt-") {
            Some((_, pair)) => {
                pair.trim_start_matches("tc-").trim_start_matches("big-").trim_start_matches("base-")
            }
            None => return Languages::default(),
        },
    };
    let mut codes: Vec<String> = Vec::new();
    for part in pair.split('-') {
        let is_language = (2..=3).contains(&part.split('_').next().unwrap_or(part).len())
            && part.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
        match codes.last_mut() {
            // zh-Hans
            Some(last) if !is_language => *last = format!("{last}-{part}"),
            _ => codes.push(part.to_owned()),
        }
    }
    match <[String; 2]>::try_from(codes) {
        Ok([from, to]) => Languages { from: vec![from], to: vec![to] },
        Err(_) => Languages::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_read_from_a_name() {
        for (name, pair) in [
            ("Helsinki-NLP/opus-mt-en-fr", "en fr"),
            ("Helsinki-NLP/opus-mt-tc-big-en-pt@main", "en pt"),
            ("opus-mt-en-zh_cn", "en zh_cn"),
            ("firefox:en-zh-Hans:base", "en zh-Hans"),
            ("firefox:ko-en", "ko en"),
            ("Helsinki-NLP/opus-mt-mul-en", "mul en"),
            ("facebook/nllb-200-distilled-600M", ""),
            ("someone/model-en-de", ""),
        ] {
            let Languages { from, to } = in_name(name);
            assert_eq!([from, to].concat().join(" "), pair, "{name}");
        }
    }
}
