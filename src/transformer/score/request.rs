use crate::transformer::input_states::Source;

/// A target to be scored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScoreRequest {
    /// Input of the encoder, with the model's special tokens; empty in decoder-only models.
    pub input_ids: Vec<u32>,
    /// Input of the decoder before the target: the start token, or earlier text of a decoder-only model.
    pub context_ids: Vec<u32>,
    /// Scored tokens, with the end token if it counts.
    pub target_ids: Vec<u32>,
    /// Tokens of the source, from 0, that see all tokens and are seen by all, as in
    /// [`GenerateRequest::global_tokens`](crate::transformer::GenerateRequest::global_tokens). Only for models whose requests name
    /// them (LED).
    pub global_tokens: Vec<usize>,
}

impl ScoreRequest {
    /// Input of the decoder: all tokens but the last.
    pub(super) fn decoder_ids(&self) -> Vec<u32> {
        let mut ids = [&self.context_ids[..], &self.target_ids].concat();
        ids.pop();
        ids
    }

    /// The source, and its global tokens.
    pub(super) fn source(&self) -> Source<'_> {
        (&self.input_ids, &self.global_tokens)
    }
}

/// The probability of a target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    /// Natural logarithm of each token's probability after those before it.
    pub token_log_probabilities: Vec<f32>,
}

impl Score {
    /// Natural logarithm of the target's probability.
    pub fn log_probability(&self) -> f64 {
        self.token_log_probabilities.iter().map(|&value| f64::from(value)).sum()
    }

    /// `exp(-log_probability / tokens)`, the number of equally probable tokens with the same uncertainty.
    pub fn perplexity(&self) -> f64 {
        (-self.log_probability() / self.token_log_probabilities.len() as f64).exp()
    }
}
