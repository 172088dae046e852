use super::beam::Beam;
use super::{DecodeOptions, Hypothesis};
use crate::scores::{BANNED, TopScores};

/// Greedy search of one sentence: the best token, step after step.  HF `GenerationMixin._sample` with
/// `do_sample=False`.
pub(super) struct GreedySearch {
    pub(super) beam: Beam,
    max_length: usize,
    eos: Vec<u32>,
}

impl GreedySearch {
    pub(super) fn new(options: &DecodeOptions) -> Self {
        Self { beam: Beam::new(&options.prompt), max_length: options.max_length, eos: options.eos.clone() }
    }

    /// Takes the best token of `scores`, one row; returns whether the sentence is finished.
    pub(super) fn advance(&mut self, scores: TopScores<'_>) -> bool {
        // With every token banned all scores are equal, and HF's argmax takes the first token of the
        // vocabulary.
        let best = scores.row(0).next().filter(|&(_, logprob)| logprob > BANNED);
        let (token, logprob) = best.unwrap_or((0, f32::NEG_INFINITY));
        self.beam.push(token, logprob);
        self.eos.contains(&token) || self.beam.tokens.len() >= self.max_length
    }

    pub(super) fn finish(self) -> Vec<Hypothesis> {
        // in f64: the rounding of a long sum should not look like a difference between two models
        let sum: f64 = self.beam.step_logprobs.iter().map(|&logprob| f64::from(logprob)).sum();
        vec![self.beam.hypothesis(sum as f32)]
    }
}
