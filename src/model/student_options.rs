//! The options of a Marian model, as a configuration: `special:model.yml` of a binary.
//!
//! Marian writes a small part of YAML: one key a line, with a scalar, or with a list in brackets or on the next lines.
//! Anything else is an error.

use serde_json::{Map, Number, Value};

use super::checkpoint::marian;
use super::error::ModelError;
use super::files::ModelFiles;
use super::json::JsonObject;

const CONFIG: &str = "config.json";
/// Value of `model_type` for a Marian binary.
const MODEL_TYPE: &str = "firefox";

/// Reads `config.json`; in a folder without one, the options in a Marian binary, with `model_type` "firefox".
///
/// Errors: those of [`JsonObject::read`] and [`marian::file`]; [`ModelError::InvalidCheckpoint`];
/// [`ModelError::InvalidOptions`].
pub(super) fn configuration(files: &ModelFiles) -> Result<JsonObject, ModelError> {
    let file = if files.has(CONFIG) { None } else { marian::file(files)? };
    match file {
        Some(file) => parse(file.label(), &marian::options(&file)?),
        None => JsonObject::read(files, CONFIG),
    }
}

/// Reads options from text. `file` is its name in messages.
fn parse(file: &str, text: &str) -> Result<JsonObject, ModelError> {
    let mut values = Map::new();
    let mut last: Option<String> = None;
    for (index, line) in text.lines().enumerate() {
        let invalid =
            |problem| ModelError::InvalidOptions { file: file.to_owned(), line: index + 1, problem };
        let line = line.trim_end();
        let content = line.trim_start();
        if content.is_empty() || content.starts_with('#') || content == "---" {
            continue;
        }
        let current = last.as_ref().and_then(|key| values.get_mut(key));
        if let Some(item) = content.strip_prefix("- ") {
            match current {
                Some(Value::Array(items)) => items.push(scalar(item).map_err(invalid)?),
                Some(value @ Value::Null) => *value = vec![scalar(item).map_err(invalid)?].into(),
                _ => return Err(invalid("an item without a list".to_owned())),
            }
        } else if line.starts_with(' ') {
            match current {
                Some(value @ Value::Null) => *value = parse_value(content).map_err(invalid)?,
                _ => return Err(invalid("an indented line without a key".to_owned())),
            }
        } else {
            let (key, value) = match content.split_once(": ") {
                Some(pair) => pair,
                None => match content.strip_suffix(':') {
                    Some(key) => (key, ""),
                    None => return Err(invalid(format!("{content:?} is not a key with a value"))),
                },
            };
            if values.insert(key.to_owned(), parse_value(value.trim()).map_err(invalid)?).is_some() {
                return Err(invalid(format!("the key {key:?} is there twice")));
            }
            last = Some(key.to_owned());
        }
    }
    values.insert("model_type".to_owned(), MODEL_TYPE.into());
    Ok(JsonObject::of_values(file, values))
}

/// A scalar, or a list in brackets.
fn parse_value(text: &str) -> Result<Value, String> {
    let Some(list) = text.strip_prefix('[') else { return scalar(text) };
    let list = list.strip_suffix(']').ok_or("a list without its closing bracket")?.trim();
    match list {
        "" => Ok(Value::Array(Vec::new())),
        list => list.split(',').map(|item| scalar(item.trim())).collect(),
    }
}

fn scalar(text: &str) -> Result<Value, String> {
    for quote in ['"', '\''] {
        let Some(quoted) = text.strip_prefix(quote) else { continue };
        return match quoted.strip_suffix(quote) {
            Some(plain) if !plain.contains([quote, '\\']) => Ok(plain.into()),
            _ => Err(format!("{text} is a string of a kind that is not read")),
        };
    }
    if text.starts_with(['{', '[', '&', '*', '!', '|', '>', '%', '@', '`']) {
        return Err(format!("{text:?} is YAML of a kind that is not read"));
    }
    Ok(match text {
        "" | "~" | "null" => Value::Null,
        "true" => true.into(),
        "false" => false.into(),
        _ => match (text.parse::<i64>(), text.parse::<f64>().ok().and_then(Number::from_f64)) {
            (Ok(whole), _) => whole.into(),
            (_, Some(number)) => number.into(),
            _ => text.into(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_that_marian_writes() {
        let text = "dec-cell: ssru\ndim-emb: 256\ndim-vocabs:\n  - 32000\n  - 32000\ninput-types:\n  []\n\
                    tied-embeddings-all: true\ntransformer-postprocess: dan\ntransformer-preprocess: \"\"\n\
                    label-smoothing: 0.1\nother: [a, 2]\nversion: v1.9.56 dad4d50 2021-06-28 12:10:40 +0100\n";
        let options = parse("m", text).unwrap();
        let values: Map<String, Value> =
            options.entries().map(|(key, value)| (key.to_owned(), value.clone())).collect();
        let expected = serde_json::json!({
            "dec-cell": "ssru", "dim-emb": 256, "dim-vocabs": [32000, 32000], "input-types": [],
            "tied-embeddings-all": true, "transformer-postprocess": "dan", "transformer-preprocess": "",
            "label-smoothing": 0.1, "other": ["a", 2],
            "version": "v1.9.56 dad4d50 2021-06-28 12:10:40 +0100", "model_type": "firefox"
        });
        assert_eq!(Value::Object(values), expected);
    }

    #[test]
    fn other_yaml_is_refused_with_its_line() {
        for (text, line, part) in [
            ("a: 1\na: 2", 2, "twice"),
            ("a: {b: 1}", 1, "not read"),
            ("- 1", 1, "without a list"),
            ("a: 1\n  b: 2", 2, "without a key"),
            ("a: [1", 1, "bracket"),
            ("a: \"x\\n\"", 1, "not read"),
            ("a b", 1, "not a key"),
        ] {
            let message = parse("m.bin", text).unwrap_err().to_string();
            assert!(message.contains(&format!("line {line}")) && message.contains(part), "{message}");
        }
    }
}
