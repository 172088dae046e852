//! What can go wrong between text and token ids.

/// An error of the text layer. Every variant says which file or token is wrong and what a user may do about
/// it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// A file that is cut short, damaged, or something else than its name says.
    #[error("{file}: {reason}; download the file again")]
    Malformed {
        /// The file's name, e.g. `source.spm`.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A valid file that asks for something this crate does not do.
    #[error("{file}: {feature} is not supported")]
    Unsupported {
        /// The file's name.
        file: String,
        /// What the file asks for.
        feature: String,
    },
    /// A vocabulary without a token that the tokenizer cannot do without.
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
        /// The tags there are instead, as a phrase.
        known: String,
    },
    /// A language code that the model does not have.
    #[error(
        "there is no language {code:?} among the {count} of this model; near it: {near}; `wordloom inspect` lists \
         them all"
    )]
    UnknownLanguage {
        /// The code as given.
        code: String,
        /// Similar codes, or else the first ones.
        near: String,
        /// Number of languages.
        count: usize,
    },
    /// A model that was trained for some translations only was asked for another one.
    #[error("this model has no task for {wanted}; it has {known}")]
    NoSuchTask {
        /// The languages as given.
        wanted: String,
        /// All tasks.
        known: String,
    },
    /// A language was given to a model that has none to choose from.
    #[error("this model has no {side} languages to choose from; leave the {side} language out")]
    NoLanguages {
        /// `source` or `target`.
        side: &'static str,
    },
    /// A model with several target languages was not told which.
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
        "tokenizer.json: needs a build with the feature `tokenizers` (`cargo build --features tokenizers`); without \
         it, the model takes token ids"
    )]
    NeedsFeature,
}
