//! Limits on the parts of a `tokenizer.json`, checked before the `tokenizers` library reads them.
//!
//! The library trusts its file: it allocates by sizes that the file states, lets a normalizer grow a text without limit,
//! and panics on some contradictions.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::sentencepiece::CharsMap;
use crate::json_problem::json_problem;

/// The parts of the file that rewrite text or ids. Vocabulary and added tokens are as long as the file.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Parts {
    normalizer: Value,
    pre_tokenizer: Value,
    post_processor: Value,
    decoder: Value,
}

/// Characters that may come of one character. Unicode's longest replacement has 18.
const GROWTH: usize = 64;
/// Characters that may be put before or after a text.
const ADDED: usize = 64;
/// Bytes of a string in these parts; patterns of published files are shorter than 1,000.
const STRING: usize = 4096;
/// Special tokens around a text.
const TEMPLATE: usize = 1024;
/// The lists of parts that run one after another.
const LISTS: [&str; 4] = ["normalizers", "pretokenizers", "processors", "decoders"];

/// Checks the file's parts. Returns the reason of a refusal.
pub(super) fn check(bytes: &[u8]) -> Result<(), String> {
    let parts: Parts = serde_json::from_slice(bytes).map_err(|error| json_problem(&error))?;
    for (name, part) in [
        ("normalizer", &parts.normalizer),
        ("pre_tokenizer", &parts.pre_tokenizer),
        ("decoder", &parts.decoder),
    ] {
        let mut growth = Growth::default();
        steps(part, &mut |step| growth.add(step)).map_err(|reason| format!("{name}: {reason}"))?;
        growth.check().map_err(|reason| format!("{name}: {reason}"))?;
    }
    let mut added = 0;
    steps(&parts.post_processor, &mut |step| {
        added += template(step)?;
        if added > TEMPLATE {
            return Err(format!("it puts more than {TEMPLATE} tokens around a text"));
        }
        Ok(())
    })
    .map_err(|reason| format!("post_processor: {reason}"))
}

/// A check of one part; the error is a message.
type Check<'a> = dyn FnMut(&Map<String, Value>) -> Result<(), String> + 'a;

/// Calls `check` for a part and the parts in its lists.
fn steps(part: &Value, check: &mut Check<'_>) -> Result<(), String> {
    let object = match part {
        Value::Null => return Ok(()),
        Value::Object(object) => object,
        _ => return Err("a part is not an object".to_owned()),
    };
    for (key, value) in object {
        if LISTS.contains(&key.as_str()) {
            let list = value.as_array().ok_or_else(|| format!("\"{key}\" is not a list"))?;
            list.iter().try_for_each(|part| steps(part, check))?;
        }
    }
    check(object)
}

/// The most characters that a chain of parts makes of one, and adds to a text.
struct Growth {
    factor: usize,
    added: usize,
}

impl Default for Growth {
    fn default() -> Self {
        Self { factor: 1, added: 0 }
    }
}

impl Growth {
    fn add(&mut self, step: &Map<String, Value>) -> Result<(), String> {
        let text = |key: &str| step.get(key).and_then(Value::as_str);
        if text("type") == Some("Precompiled") && text("precompiled_charsmap").is_none() {
            return Err("\"Precompiled\" has no text \"precompiled_charsmap\"".to_owned()); // the library panics
        }
        if let Some(rules) = text("precompiled_charsmap") {
            let damaged = |_| "\"precompiled_charsmap\" is not base64".to_owned();
            let rules = CharsMap::parse(&STANDARD.decode(rules).map_err(damaged)?)?;
            self.factor = self.factor.saturating_mul(rules.longest_replacement().max(1));
        }
        // the parts of lists are checked one by one
        let own = |key: &str| key != "precompiled_charsmap" && !LISTS.contains(&key);
        if let Some(long) = step.iter().find(|(key, value)| own(key) && longest_string(value) > STRING) {
            return Err(format!("{:?} has a string of more than {STRING} bytes", long.0));
        }
        if let Some(prepend) = text("prepend") {
            self.added = self.added.saturating_add(prepend.chars().count());
        }
        if let (Some(pattern), Some(content)) = (step.get("pattern"), text("content")) {
            let literal = pattern.get("String").or(Some(pattern)).and_then(Value::as_str);
            if literal == Some("") {
                return Err("it replaces an empty pattern, which is everywhere".to_owned());
            }
            // a regular expression may match one character
            let replaced = literal.map_or(1, |literal| literal.chars().count());
            self.factor = self.factor.saturating_mul(content.chars().count().div_ceil(replaced).max(1));
        }
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        if self.factor > GROWTH {
            return Err(format!("one character could become {}; the limit is {GROWTH}", self.factor));
        }
        if self.added > ADDED {
            return Err(format!("it prepends {} characters; the limit is {ADDED}", self.added));
        }
        Ok(())
    }
}

/// Bytes of the longest string in a value, keys included.
fn longest_string(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(longest_string).max().unwrap_or(0),
        Value::Object(object) => {
            object.iter().map(|(key, value)| key.len().max(longest_string(value))).max().unwrap_or(0)
        }
        _ => 0,
    }
}

/// The number of tokens that a template puts around a text. Each has to be described in the file.
fn template(step: &Map<String, Value>) -> Result<usize, String> {
    let mut most = 0;
    for key in ["single", "pair"] {
        let mut count = 0_usize;
        for piece in step.get(key).and_then(Value::as_array).into_iter().flatten() {
            let token = match piece {
                Value::Object(piece) => piece.get("SpecialToken").and_then(|token| token.get("id")),
                // `$A` is the text, anything else a token
                Value::String(text) if !text.starts_with('$') => Some(piece),
                _ => None,
            };
            let Some(token) = token.and_then(Value::as_str) else { continue };
            let described = step.get("special_tokens").and_then(|tokens| tokens.get(token));
            let Some(described) = described else {
                return Err(format!("{token:?} is in the template, but not among its special tokens"));
            };
            let ids = described.get("ids").and_then(Value::as_array).map_or(1, Vec::len);
            count = count.saturating_add(ids);
        }
        most = most.max(count);
    }
    Ok(most)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::check;

    fn refusal(file: &Value) -> Option<String> {
        check(file.to_string().as_bytes()).err()
    }

    #[track_caller]
    fn refused(file: &Value, part: &str) {
        let reason = refusal(file).expect("refused");
        assert!(reason.contains(part), "{reason}");
    }

    #[test]
    fn normalizers_may_not_multiply_a_text() {
        let double = json!({"type": "Replace", "pattern": {"String": "x"}, "content": "xx"});
        let chain =
            |count| json!({"normalizer": {"type": "Sequence", "normalizers": vec![double.clone(); count]}});
        assert_eq!(refusal(&chain(6)), None);
        refused(&chain(7), "normalizer: one character could become 128");
        let nested = json!({"normalizer": {"normalizers": [chain(4)["normalizer"], chain(4)["normalizer"]]}});
        refused(&nested, "could become 256");
        refused(
            &json!({"decoder": {"decoders": vec![double; 9]}}),
            "decoder: one character could become 512",
        );
        refused(&json!({"normalizer": {"prepend": "x".repeat(65)}}), "prepends 65 characters");
        refused(&json!({"normalizer": {"pattern": {"String": ""}, "content": "x"}}), "an empty pattern");
        let many = json!({"pattern": {"Regex": "."}, "content": "x".repeat(65)});
        refused(&json!({"normalizer": many}), "could become 65");
        refused(&json!({"pre_tokenizer": {"pattern": {"Regex": "a".repeat(5000)}}}), "more than 4096 bytes");
    }

    #[test]
    fn forms_that_hide_a_part_are_refused() {
        refused(&json!({"normalizer": ["////////////"]}), "not an object");
        refused(&json!({"normalizer": {"normalizers": [["////////////"]]}}), "not an object");
        refused(&json!({"normalizer": {"normalizers": "x"}}), "not a list");
        assert!(check(br#"{"normalizer": null, "normalizer": {"prepend": "x"}}"#).is_err(), "twice");
    }

    #[test]
    fn rules_have_the_size_that_they_state() {
        refused(&json!({"normalizer": {"precompiled_charsmap": "////////////"}}), "rules are damaged");
        refused(&json!({"normalizer": {"precompiled_charsmap": "%"}}), "not base64");
        for rules in
            [json!({"type": "Precompiled"}), json!({"type": "Precompiled", "precompiled_charsmap": 1})]
        {
            refused(&json!({"normalizer": {"type": "Sequence", "normalizers": [rules]}}), "has no text");
        }
    }

    #[test]
    fn templates_are_bounded_and_complete() {
        let template = |ids: Value| {
            json!({"post_processor": {"single": [{"SpecialToken": {"id": "a", "type_id": 0}}, {"Sequence": {"id": "A"}}],
                "pair": [], "special_tokens": {"a": {"id": "a", "ids": ids, "tokens": []}}}})
        };
        assert_eq!(refusal(&template(json!([1, 2]))), None);
        refused(&template(json!(vec![1; 1025])), "more than 1024 tokens");
        let mut unknown = template(json!([1]));
        unknown["post_processor"]["special_tokens"] = json!({});
        refused(&unknown, "\"a\" is in the template");
    }
}
