//! Changes of a text.

/// A change of a text: bytes from `start` to `end` become `text`.
pub(super) struct Edit {
    pub start: usize,
    pub end: usize,
    pub text: String,
}

/// A text after edits, which do not overlap.
pub(super) fn edited(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| edit.start);
    let mut result = String::with_capacity(text.len());
    let mut end = 0;
    for edit in edits {
        result.push_str(&text[end..edit.start]);
        result.push_str(&edit.text);
        end = edit.end;
    }
    result.push_str(&text[end..]);
    result
}
