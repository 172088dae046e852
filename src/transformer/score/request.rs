//! A target, and how probable it is.

/// A target to be scored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScoreRequest {
    /// What the encoder reads, with whatever special tokens the model expects; empty in decoder-only models.
    pub input_ids: Vec<u32>,
    /// What the decoder is given before the target: its start token; or in decoder-only models the text before.
    pub context_ids: Vec<u32>,
    /// The tokens that are scored, the end token among them if that is to count.
    pub target_ids: Vec<u32>,
}

impl ScoreRequest {
    /// Everything that the decoder may read: all but the last token, which nothing comes after.
    pub(super) fn decoder_ids(&self) -> Vec<u32> {
        let mut ids = [&self.context_ids[..], &self.target_ids].concat();
        ids.pop();
        ids
    }
}

/// How probable a target is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    /// Natural logarithm of each token's probability, given those before it.
    pub token_log_probabilities: Vec<f32>,
}

impl Score {
    /// Logarithm of the whole target's probability.
    pub fn log_probability(&self) -> f64 {
        self.token_log_probabilities.iter().map(|&value| f64::from(value)).sum()
    }

    /// `exp(-log_probability / tokens)`: among how many equally probable tokens the model might as well have chosen.
    pub fn perplexity(&self) -> f64 {
        (-self.log_probability() / self.token_log_probabilities.len() as f64).exp()
    }
}
