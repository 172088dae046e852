use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::hypothesis::{Beam, Hypothesis};
use super::options::{DecodeOptions, Sampling};
use super::step::StepScores;

/// Greedy search, or independent samples, of one sentence: one row each.  HF `GenerationMixin._sample`.
pub(super) struct SampleSearch {
    beams: Vec<Beam>,
    /// `None`: greedy, one beam.
    draws: Option<(Sampling, Vec<ChaCha8Rng>)>,
    prompt_length: usize,
    max_length: usize,
    eos: Vec<u32>,
    /// `(token, log-probability)` of a row; a buffer.
    candidates: Vec<(u32, f64)>,
}

impl SampleSearch {
    pub(super) fn new(options: &DecodeOptions) -> Self {
        let rows = options.rows();
        Self {
            beams: (0..rows).map(|row| Beam::new(&options.prompt, row)).collect(),
            draws: options
                .sampling
                .map(|sampling| (sampling, (0..rows as u64).map(|row| sampling.random(row)).collect())),
            prompt_length: options.prompt.len(),
            max_length: options.max_length,
            eos: options.eos.clone(),
            candidates: Vec::new(),
        }
    }

    pub(super) fn beams(&self) -> &[Beam] {
        &self.beams
    }

    pub(super) fn is_complete(&self, beam: &Beam) -> bool {
        let (_, generated) = beam.tokens.split_at(self.prompt_length);
        beam.tokens.len() >= self.max_length || generated.last().is_some_and(|token| self.eos.contains(token))
    }

    /// Adds a token to every incomplete hypothesis. Returns whether all are complete.
    pub(super) fn advance(&mut self, scores: StepScores<'_>) -> bool {
        let mut complete = true;
        for row in 0..self.beams.len() {
            if self.is_complete(&self.beams[row]) {
                continue;
            }
            let candidates = &mut self.candidates;
            scores.candidates(row, candidates);
            let chosen = match &mut self.draws {
                None => candidates.first().copied(),
                Some((sampling, random)) => {
                    sampling.probabilities(candidates);
                    draw(&mut random[row], candidates)
                }
            };
            // If every token is banned, HF's argmax takes the first token of the vocabulary.
            let (token, logprob) = chosen.unwrap_or((0, f64::NEG_INFINITY));
            self.beams[row].push(token, logprob as f32);
            complete &= self.is_complete(&self.beams[row]);
        }
        complete
    }

    pub(super) fn finish(self) -> Vec<Hypothesis> {
        // f64: rounding of a long sum must not look like a difference between two models
        let sum = |beam: &Beam| beam.step_logprobs.iter().map(|&logprob| f64::from(logprob)).sum::<f64>();
        self.beams.iter().map(|beam| beam.hypothesis(sum(beam) as f32)).collect()
    }
}

impl Sampling {
    /// Turns the `(token, score)` pairs of a row into `(token, probability)` pairs to draw from: divides by the
    /// temperature, keeps the best `top_k`, then the best with `top_p` of the remaining probability, and normalises.
    /// Scores are logits or log-probabilities, in any order.
    ///
    /// After a cut, pairs are best first, equal ones by ascending token. There are at most `top_k`; HF's
    /// `TopKLogitsWarper` also keeps tokens equal to the last one.
    pub fn probabilities(&self, pairs: &mut Vec<(u32, f64)>) {
        let best_first = |a: &(u32, f64), b: &(u32, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if (1..pairs.len()).contains(&self.top_k) {
            pairs.select_nth_unstable_by(self.top_k - 1, best_first);
            pairs.truncate(self.top_k);
        }
        if self.top_k > 0 || self.top_p < 1.0 {
            pairs.sort_unstable_by(best_first);
        }
        let best = pairs.iter().map(|&(_, score)| score).fold(f64::NEG_INFINITY, f64::max);
        for (_, score) in &mut *pairs {
            *score = ((*score - best) / f64::from(self.temperature)).exp();
        }
        if self.top_p < 1.0 {
            let enough = f64::from(self.top_p) * sum(pairs);
            let mut before = 0.0;
            pairs.retain(|&(_, weight)| {
                let kept = before < enough;
                before += weight;
                kept
            });
        }
        let total = sum(pairs);
        pairs.iter_mut().for_each(|(_, weight)| *weight /= total);
    }

    /// Random numbers of one hypothesis, from a published generator: the same on every machine and in every version.
    fn random(&self, stream: u64) -> ChaCha8Rng {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&self.seed.to_le_bytes());
        let mut random = ChaCha8Rng::from_seed(key);
        random.set_stream(stream);
        random
    }
}

fn sum(pairs: &[(u32, f64)]) -> f64 {
    pairs.iter().map(|&(_, weight)| weight).sum()
}

/// Returns a token and the natural logarithm of its probability.
fn draw(random: &mut ChaCha8Rng, probabilities: &[(u32, f64)]) -> Option<(u32, f64)> {
    let uniform = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64; // in [0, 1)
    let mut below = 0.0;
    let drawn = probabilities.iter().find(|&&(_, probability)| {
        below += probability;
        uniform < below
    });
    // the rounded sum of the probabilities may be less than 1
    let (token, probability) = *drawn.or(probabilities.last())?;
    Some((token, probability.ln()))
}
