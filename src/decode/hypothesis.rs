/// One output of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Hypothesis {
    /// From the prompt to the end token, if there is one; no padding.
    pub tokens: Vec<u32>,
    /// Beam search: HF's `sequences_scores`, the sum of `step_logprobs` divided by `length^length_penalty`. Greedy
    /// search and sampling: the sum.
    pub score: f32,
    /// Log-probability of every token after the prompt, after edits (sampling: after cuts); 0 for a forced token.
    pub step_logprobs: Vec<f32>,
}

pub(super) struct Beam {
    pub(super) tokens: Vec<u32>,
    /// One value per token after the prompt.
    pub(super) step_logprobs: Vec<f32>,
    /// Sum of `step_logprobs` in f32, in HF's order.
    pub(super) score: f32,
    /// Index of the beam that this one continued in the last step.
    pub(super) parent: usize,
}

impl Beam {
    pub(super) fn new(prompt: &[u32], parent: usize) -> Self {
        Self { tokens: prompt.to_vec(), step_logprobs: Vec::new(), score: 0.0, parent }
    }

    pub(super) fn push(&mut self, token: u32, logprob: f32) {
        self.tokens.push(token);
        self.step_logprobs.push(logprob);
        self.score += logprob;
    }

    /// Copies a beam and appends one token, in the memory that is already allocated.
    pub(super) fn continue_from(&mut self, beams: &[Beam], parent: usize, token: u32, logprob: f32) {
        let before = &beams[parent];
        self.tokens.clone_from(&before.tokens);
        self.step_logprobs.clone_from(&before.step_logprobs);
        self.score = before.score;
        self.parent = parent;
        self.push(token, logprob);
    }

    pub(super) fn hypothesis(&self, score: f32) -> Hypothesis {
        Hypothesis { tokens: self.tokens.clone(), score, step_logprobs: self.step_logprobs.clone() }
    }
}

/// The divisor of a hypothesis' sum of log-probabilities: `length ^ length_penalty`.
pub(crate) fn length_divisor(length: usize, length_penalty: f32) -> f32 {
    (length as f64).powf(f64::from(length_penalty)) as f32
}
