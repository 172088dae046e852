//! Which token is meant.

use super::ExplainError;
use crate::model::AttentionKind;
use crate::trace::TracedSentence;

/// Finds the sentence and the query of a token: `#3`, a token as it is shown, or a word, whose first token it then is. Case
/// counts only if both spellings are there.
pub(super) fn find(
    sentences: &[TracedSentence],
    kind: AttentionKind,
    wanted: &str,
) -> Result<(usize, usize), ExplainError> {
    if sentences.is_empty() {
        return Err(ExplainError::Empty);
    }
    if let Some(number) = wanted.strip_prefix('#').and_then(|number| number.parse::<usize>().ok()) {
        let mut at = number;
        for (index, sentence) in sentences.iter().enumerate() {
            let count = sentence.query_tokens(kind).len();
            if at < count {
                return Ok((index, at));
            }
            at -= count;
        }
    }
    let lower = wanted.to_lowercase();
    let same: [&dyn Fn(&str) -> bool; 2] =
        [&|text: &str| text == wanted, &|text: &str| text.to_lowercase() == lower];
    for is_same in same {
        for (index, sentence) in sentences.iter().enumerate() {
            if let Some(query) = token(sentence, kind, is_same) {
                return Ok((index, query));
            }
        }
    }
    let tokens = sentences.iter().flat_map(|sentence| sentence.query_labels(kind)).collect();
    let side = if kind.queries_target() { "the translation" } else { "the source" };
    Err(ExplainError::Token { token: wanted.to_owned(), side, tokens })
}

fn token(sentence: &TracedSentence, kind: AttentionKind, is_same: &dyn Fn(&str) -> bool) -> Option<usize> {
    let labels = sentence.query_labels(kind);
    let tokens = sentence.query_tokens(kind);
    let as_shown = labels.iter().position(|label| is_same(label) || is_same(label.trim_start_matches('·')));
    as_shown.or_else(|| tokens.iter().position(|token| is_same(&token.piece))).or_else(|| {
        let text = if kind.queries_target() { &sentence.target } else { &sentence.source };
        let word = |at: usize| {
            let is_inside = |c: char| c.is_alphanumeric();
            let start = text[..at].trim_end_matches(is_inside).len();
            let end = text.len() - text[at..].trim_start_matches(is_inside).len();
            &text[start..end]
        };
        tokens.iter().position(|token| {
            token.range.is_some_and(|[first, _]| text.is_char_boundary(first) && is_same(word(first)))
        })
    })
}
