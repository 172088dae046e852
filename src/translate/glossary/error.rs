//! What can be wrong with a glossary.

use crate::readable::counted;
use crate::text::TextError;

/// An error in a glossary's file, or between it and a model. Messages about lines name the file and the line.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum GlossaryError {
    /// A file that is larger than any glossary.
    #[error("{file}: has {bytes} bytes; a glossary may have {limit}")]
    TooLarge { file: String, bytes: usize, limit: usize },
    /// A file without terms.
    #[error("{file}: has no terms; write one a line, SOURCE, a tab, and TARGET")]
    NoTerms { file: String },
    /// Bytes that are no text.
    #[error("{file}, line {line}: is not UTF-8; save the file as UTF-8")]
    NotUtf8 { file: String, line: usize },
    /// A control character other than the tab.
    #[error("{file}, line {line}: has the control character {character:?}; remove it")]
    Control { file: String, line: usize, character: char },
    /// Another number of columns than 2 to 4.
    #[error(
        "{file}, line {line}: has {}; write SOURCE = TARGET; or SOURCE, TARGET, and if needed INFLECTIONS and RULE, with tabs between",
        counted(*columns, "column")
    )]
    Columns { file: String, line: usize, columns: usize },
    /// An empty source, target or inflection.
    #[error("{file}, line {line}: the {what} is empty")]
    Empty { file: String, line: usize, what: &'static str },
    /// An unknown rule for upper and lower case.
    #[error("{file}, line {line}: has the rule {rule:?}; rules are `exact` and `any`, or nothing")]
    Rule { file: String, line: usize, rule: String },
    /// Inflections of a term that is not to be translated.
    #[error("{file}, line {line}: a term that stays as it is (`=`) has no inflections")]
    Inflected { file: String, line: usize },
    /// Two lines with the same source that say different things.
    #[error(
        "{file}, line {line}: {source_term:?} has another translation in line {first}; keep one line, with the other form as an inflection"
    )]
    Conflict { file: String, line: usize, source_term: String, first: usize },
    /// A target that the model's vocabulary has no tokens for.
    #[error("{file}, line {line}: this model's vocabulary cannot write {target:?}")]
    CannotWrite { file: String, line: usize, target: String },
    /// A target that the model's vocabulary writes otherwise, because its tokenizer normalizes text.
    #[error("{file}, line {line}: this model writes {target:?} as {written:?}; give that, or another target")]
    WritesOtherwise { file: String, line: usize, target: String, written: String },
    /// A target longer than the model's longest output.
    #[error(
        "{file}, line {line}: {target:?} takes {tokens} tokens; this model writes at most {limit} of one term"
    )]
    TooLong { file: String, line: usize, target: String, tokens: usize, limit: usize },
    /// More inflections than a search follows.
    #[error("{file}, line {line}: has {forms} forms; a term may have {limit}")]
    TooManyForms { file: String, line: usize, forms: usize, limit: usize },
    /// Languages that the model does not have.
    #[error(transparent)]
    Languages(#[from] TextError),
}
