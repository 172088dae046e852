//! Problems of JSON, and quotations, in messages for readers who do not know Rust.

use serde_json::error::Category;

/// What is wrong with a JSON text, with line and column.
///
/// serde's own words name Rust's types (`expected usize`, `untagged enum`), which say nothing to the author of a file.
pub fn json_problem(error: &serde_json::Error) -> String {
    match error.line() {
        0 => problem(error), // a value that has been parsed already has no place
        line => format!("{} at line {line} column {}", problem(error), error.column()),
    }
}

/// As [`json_problem`] for a text of one line, with the column alone.
pub fn json_line_problem(error: &serde_json::Error) -> String {
    format!("{} at column {}", problem(error), error.column())
}

fn problem(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let problem = text.strip_suffix(&place).unwrap_or(&text);
    match error.classify() {
        Category::Eof if error.line() == 1 && error.column() == 0 => "it is empty".to_owned(),
        Category::Eof => "it ends in the middle of a value".to_owned(),
        Category::Syntax | Category::Io => problem.to_owned(),
        Category::Data => plain(problem),
    }
}

/// The beginning of a text that is quoted in a message: a long one would hide the rest.
pub fn excerpt(text: &str) -> String {
    const LENGTH: usize = 60;
    match text.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// serde's sentences with JSON's words for Rust's types. Unknown sentences are kept, unless they name Rust's things.
pub(crate) fn plain(problem: &str) -> String {
    let key = |rest: &str| rest.split('`').next().unwrap_or_default().to_owned();
    if let Some(rest) = problem.strip_prefix("missing field `") {
        return format!("the key {:?} is missing", key(rest));
    }
    if let Some(rest) = problem.strip_prefix("duplicate field `") {
        return format!("the key {:?} occurs twice", key(rest));
    }
    if let Some(rest) = problem.strip_prefix("unknown field `") {
        return format!("the key {:?} is unknown", key(rest));
    }
    if let Some(rest) = problem.strip_prefix("unknown variant `") {
        let known = rest.split_once("expected ").map(|(_, known)| known.trim_start_matches("one of "));
        let known = known.map(|known| format!("; known: {}", known.replace('`', "\""))).unwrap_or_default();
        return format!("{:?} is unknown{known}", key(rest));
    }
    for start in ["invalid type: ", "invalid value: "] {
        if let Some((found, expected)) =
            problem.strip_prefix(start).and_then(|rest| rest.split_once(", expected "))
        {
            return format!("there is {} instead of {}", found_in_json(found), expected_in_json(expected));
        }
    }
    if let Some((found, expected)) =
        problem.strip_prefix("invalid length ").and_then(|rest| rest.split_once(", expected "))
    {
        return format!("there are {found} values instead of {}", expected_in_json(expected));
    }
    if ["enum", "struct", "variant"].iter().any(|word| problem.contains(word)) {
        return "a value has none of the forms that are known here".to_owned();
    }
    problem.to_owned()
}

fn found_in_json(found: &str) -> String {
    match found {
        "sequence" => "a list".to_owned(),
        "map" | "newtype variant" | "struct variant" => "an object".to_owned(),
        "unit value" => "null".to_owned(),
        _ => {
            let value = found.strip_prefix("integer ").or_else(|| found.strip_prefix("floating point "));
            let value =
                value.or_else(|| found.strip_prefix("boolean ")).or_else(|| found.strip_prefix("string "));
            value.unwrap_or(found).replace('`', "")
        }
    }
}

fn expected_in_json(expected: &str) -> String {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, not negative".to_owned(),
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a borrowed string" | "string" => "a string".to_owned(),
        "a character" => "a string of one character".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "an object".to_owned(),
        _ if expected.starts_with("a tuple") || expected.starts_with("an array of length") => {
            format!(
                "a list{}",
                expected.find(" of ").map_or("", |place| &expected[place..]).replace(" of size", " of")
            )
        }
        _ if ["struct ", "internally tagged", "adjacently tagged", "tuple struct "]
            .iter()
            .any(|start| expected.starts_with(start)) =>
        {
            "an object".to_owned()
        }
        _ if expected.contains("enum") || expected.contains("variant") => "one of the known forms".to_owned(),
        _ => expected.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::json_line_problem;

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "only its errors count")]
    enum Form {
        Number(u32),
        List(Vec<u32>),
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only its errors count")]
    struct Part {
        size: usize,
        form: Option<Form>,
        scale: Option<f32>,
    }

    fn problem(json: &str) -> String {
        json_line_problem(&serde_json::from_str::<Part>(json).expect_err("invalid"))
    }

    #[test]
    fn rusts_words_are_translated() {
        for (json, want) in [
            (r#"{"size": "x"}"#, "there is \"x\" instead of a whole number, not negative at column 12"),
            (r#"{"size": -1}"#, "there is -1 instead of a whole number, not negative at column 11"),
            (r#"{"size": 1, "form": {}}"#, "a value has none of the forms that are known here at column 23"),
            (r#"{"size": 1, "scale": []}"#, "there is a list instead of a number at column 21"),
            (r#"[]"#, "there are 0 values instead of an object at column 2"),
            (r#"7"#, "there is 7 instead of an object at column 1"),
            (r#"{"size": 1, "size": 2}"#, "the key \"size\" occurs twice at column 18"),
            ("{}", "the key \"size\" is missing at column 2"),
            (r#"{"size": 1,"#, "it ends in the middle of a value at column 11"),
            ("{\n\n\"siz\": 1}", "the key \"siz\" is unknown at column 5"),
        ] {
            assert_eq!(problem(json), want, "{json}");
        }
    }
}
