//! Errors between text and token ids.

use serde_json::error::Category;

use crate::json_problem::json_problem;

/// An error of the text layer. Every message names the file or token, and what a user can do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// A file that is incomplete or damaged, so that a new download may help.
    #[error("{file}: {reason}; download the file again")]
    Damaged {
        /// The file's name, e.g. `source.spm`.
        file: String,
        /// The fault.
        reason: String,
    },
    /// A file with contents that make no tokenizer, or that cannot encode a text.
    #[error("{file}: {reason}")]
    Malformed {
        /// The file's name, e.g. `source.spm`.
        file: String,
        /// The fault.
        reason: String,
    },
    /// A valid file that needs a feature this crate does not have.
    #[error("{file}: {feature} is not supported")]
    Unsupported {
        /// The file's name.
        file: String,
        /// The feature.
        feature: String,
    },
    /// A vocabulary without a token that the tokenizer requires.
    #[error("{file}: has no token `{token}`; `tokenizer_config.json` may give it another name")]
    MissingToken {
        /// The file's name.
        file: String,
        /// The token, e.g. `<unk>`.
        token: String,
    },
    /// `separate_vocabs` is set, but there is only one vocabulary.
    #[error("target_vocab.json: missing, though tokenizer_config.json sets `separate_vocabs`")]
    MissingTargetVocabulary,
    /// A token id that no vocabulary entry has.
    #[error("token id {id} is not in the vocabulary of {size} tokens")]
    UnknownId {
        /// The id.
        id: u32,
        /// Number of tokens in the vocabulary.
        size: usize,
    },
    /// A leading `>>xxx<<` that the model was not trained with.
    #[error("unknown language tag `{tag}`; {known}")]
    UnknownLanguageTag {
        /// The tag as written.
        tag: String,
        /// The known tags, as a phrase.
        known: String,
    },
    /// A language code that the model does not have.
    #[error(
        "this model has no language {code:?}; {near}; `wordloom inspect` lists its languages, {count} in all"
    )]
    UnknownLanguage {
        /// The code as given.
        code: String,
        /// A phrase with similar codes, or with the first codes if none is similar.
        near: String,
        /// Number of languages.
        count: usize,
    },
    /// A translation that the model was not trained for.
    #[error("this model has no task for {wanted}; it has {known}")]
    NoSuchTask {
        /// The languages as given.
        wanted: String,
        /// All tasks.
        known: String,
    },
    /// A task that the model's configuration does not have.
    #[error("this model has no task {task:?}; {known}")]
    UnknownTask {
        /// The task as given.
        task: String,
        /// The known tasks, as a phrase.
        known: String,
    },
    /// A task whose parameters are no options of a search.
    #[error("the task {task:?}: {reason}")]
    InvalidTask {
        /// Name of the task.
        task: String,
        /// The fault.
        reason: String,
    },
    /// A task, and languages that need other words before the text.
    #[error(
        "the task {task:?} and the languages differ: these put {words:?} before a text; leave one of them out"
    )]
    TaskAndLanguages {
        /// Name of the task.
        task: String,
        /// The words of the languages.
        words: String,
    },
    /// A language for a model with a fixed language.
    #[error("this model has no {side} languages to choose from; leave the {side} language out")]
    NoLanguages {
        /// `source` or `target`.
        side: &'static str,
    },
    /// A language that is not the one of the model.
    #[error(
        "this model's {side} language is {only:?}, not {code:?}; leave the {side} language out, or take another model"
    )]
    OnlyLanguage {
        /// `source` or `target`.
        side: &'static str,
        /// The language as given.
        code: String,
        /// The model's language.
        only: String,
    },
    /// A model with several target languages, called without one.
    #[error(
        "this model translates into {count} languages ({some}, …): it needs a target language (`--target-lang CODE`)"
    )]
    NoTargetLanguage {
        /// Some codes.
        some: String,
        /// Number of languages.
        count: usize,
    },
    /// The tokenizer is in a format that this build cannot read.
    #[error(
        "the tokenizer needs a build with the feature `tokenizers` (`cargo build --features tokenizers`); without it, \
         the model takes token ids"
    )]
    NeedsFeature,
}

impl TextError {
    /// The error for a file of JSON.
    pub(super) fn of_json(file: &str, error: &serde_json::Error) -> Self {
        let (file, reason) = (file.to_owned(), json_problem(error));
        match error.classify() {
            Category::Data => Self::Malformed { file, reason },
            Category::Eof | Category::Syntax | Category::Io => Self::Damaged { file, reason },
        }
    }
}
