use thiserror::Error;

/// An error in decoding options, in a batch, or in a model's scores.
#[derive(Debug, Clone, PartialEq, Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum DecodeError {
    /// A number outside the allowed range.
    #[error("{option} is {value}; it must be {allowed}")]
    Option { option: &'static str, value: String, allowed: String },

    /// A token id outside the vocabulary.
    #[error(
        "{option} names token {token}, but the target vocabulary has {vocabulary} tokens; \
         use an id below {vocabulary}"
    )]
    Token { option: &'static str, token: u32, vocabulary: usize },

    /// Different options in one batch, which is one block of rows under one [`ScoreRules`](crate::scores::ScoreRules).
    #[error(
        "sentence {sentence} asks for {option} = {value}, the first sentence of its batch for {first}; \
         put sentences that differ in {option} into separate batches"
    )]
    MixedBatch { option: &'static str, sentence: usize, value: String, first: String },

    /// The wrong number of best scores.
    #[error(
        "top scores hold {values} values and {tokens} tokens, {per_row} a row; \
         [{rows}, {candidates}] of each are needed"
    )]
    Shape { rows: usize, candidates: usize, values: usize, tokens: usize, per_row: usize },

    /// Scores that are not whole rows of the batch.
    #[error("whole rows of scores are needed, [{rows}, vocabulary] values; there are {values}")]
    WholeRows { rows: usize, values: usize },

    /// Scores that overflowed.
    #[error(
        "the model's best score for sentence {sentence} at token {position} is not a number; \
         its weights are damaged, or overflow in the precision they are stored in"
    )]
    NotANumber { sentence: usize, position: usize },
}
