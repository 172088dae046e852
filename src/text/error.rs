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
}
