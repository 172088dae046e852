use super::banks::{Candidate, Terms};
use super::hypothesis::{Beam, Hypothesis, length_divisor};
use super::options::{DecodeOptions, EarlyStopping};
use super::step::{Offers, StepBuffers};
use super::tree::{Fate, Growing, SearchTree};
use crate::scores::{BANNED, TopScores};

/// Beam search of one sentence.  HF `GenerationMixin._beam_search`, transformers 4.50 and later.
pub(super) struct BeamSearch {
    num_beams: usize,
    num_return_sequences: usize,
    length_penalty: f32,
    early_stopping: EarlyStopping,
    max_new_tokens: usize,
    eos: Vec<u32>,
    /// `num_beams` beams; the first `live` count, best first.
    beams: Vec<Beam>,
    live: usize,
    /// At most `num_beams`, best first.
    finished: Vec<Hypothesis>,
    tree: Option<Growing>,
    terms: Option<Box<Terms>>,
    // Buffers, kept between steps.
    next_beams: Vec<Beam>,
    candidates: Vec<Candidate>,
}

impl BeamSearch {
    pub(super) fn new(options: &DecodeOptions) -> Self {
        let beams = || (0..options.num_beams).map(|_| Beam::new(&options.prompt, 0)).collect();
        Self {
            num_beams: options.num_beams,
            num_return_sequences: options.num_return_sequences,
            length_penalty: options.length_penalty,
            early_stopping: options.early_stopping,
            max_new_tokens: options.max_length - options.prompt.len(),
            eos: options.eos.clone(),
            beams: beams(),
            live: 1, // all beams are equal before the first token
            finished: Vec::new(),
            tree: None,
            terms: Terms::new(options).map(Box::new),
            next_beams: beams(),
            candidates: Vec::new(),
        }
    }

    /// Keeps all candidates. Call it before the first step.
    pub(super) fn keep_tree(&mut self) {
        self.tree = Some(Growing::new(self.num_beams, self.length_penalty));
    }

    pub(super) fn take_tree(&mut self) -> Option<SearchTree> {
        self.tree.take().map(|growing| growing.tree)
    }

    /// Number of candidates of each row for [`advance`](Self::advance).
    ///
    /// HF ranks `(1 + end tokens) * num_beams` candidates of all beams together. It uses the first `num_beams`, and the
    /// first `num_beams` that are no end token. Both contain only the best `num_beams` tokens of a row and the end
    /// tokens among them, so fewer candidates give the same beams.
    pub(super) fn candidates_per_row(num_beams: usize, end_tokens: usize) -> usize {
        num_beams + end_tokens
    }

    /// Live beams, best first; never empty.
    pub(super) fn beams(&self) -> &[Beam] {
        &self.beams[..self.live]
    }

    /// The best finished hypothesis, or the best beam if there is none.
    pub(super) fn best_tokens(&self) -> &[u32] {
        self.finished.first().map_or(&self.beams[0].tokens, |hypothesis| &hypothesis.tokens)
    }

    /// Length of the prefix that all hypotheses share, live and finished; every result begins with it.
    pub(super) fn settled_tokens(&self) -> usize {
        let best = &self.beams[0].tokens;
        let others = self.beams().iter().map(|beam| &beam.tokens);
        let others = others.chain(self.finished.iter().map(|hypothesis| &hypothesis.tokens));
        let common = |other: &Vec<u32>| best.iter().zip(other).take_while(|(a, b)| a == b).count();
        others.map(common).min().unwrap_or(0)
    }

    /// Appends the tokens of terms whose scores the next step needs, `room` for each of `rows` rows.
    pub(super) fn want(&self, rows: usize, room: usize, step: &mut StepBuffers) {
        for row in 0..rows {
            match (&self.terms, self.beams().get(row)) {
                (Some(terms), Some(beam)) => terms.want(row, beam, room, &mut step.wanted),
                _ => step.want_nothing(room),
            }
        }
    }

    /// Continues every live beam with the best of its row of `scores`, or with the offers of terms. Returns whether the sentence is
    /// finished.
    pub(super) fn advance(&mut self, scores: TopScores<'_>, offers: Option<Offers<'_>>) -> bool {
        match &mut self.terms {
            Some(terms) => terms.rank(&self.beams[..self.live], scores, offers, &mut self.candidates),
            None => self.rank_candidates(scores),
        }
        let length = self.beams[0].step_logprobs.len() + 1; // generated tokens, this one included
        let mut live = 0;
        for (rank, candidate) in self.candidates.iter().enumerate() {
            let parent = &self.beams[candidate.beam];
            let mut fate = Fate::Rejected;
            if length < self.max_new_tokens && !self.eos.contains(&candidate.token) {
                if live < self.num_beams {
                    let &Candidate { beam, token, logprob, .. } = candidate;
                    self.next_beams[live].continue_from(&self.beams, beam, token, logprob);
                    if let Some(terms) = &mut self.terms {
                        terms.keep(live, candidate);
                    }
                    live += 1;
                    fate = Fate::Kept;
                }
            } else if rank < self.num_beams {
                fate = Fate::Finished;
                let score = candidate.score / self.length_divisor(length);
                let place = self.finished.partition_point(|better| better.score >= score);
                if place < self.num_beams {
                    let mut hypothesis = parent.hypothesis(score);
                    hypothesis.tokens.push(candidate.token);
                    hypothesis.step_logprobs.push(candidate.logprob);
                    self.finished.insert(place, hypothesis);
                    self.finished.truncate(self.num_beams);
                }
            }
            if let Some(tree) = self.tree.as_mut().filter(|_| rank < 2 * self.num_beams) {
                tree.add(candidate.beam, candidate.token, [candidate.logprob, candidate.score], fate);
            }
        }
        if let Some(tree) = &mut self.tree {
            tree.end_step();
        }
        if live == 0 {
            return true;
        }
        std::mem::swap(&mut self.beams, &mut self.next_beams);
        if let Some(terms) = &mut self.terms {
            terms.end_step();
        }
        self.live = live;
        !self.may_improve(length)
    }

    /// Returns the `num_return_sequences` best finished hypotheses, or fewer if fewer exist. Without any (all tokens
    /// banned, or an early end) returns the best beam.
    pub(super) fn finish(mut self) -> Vec<Hypothesis> {
        if self.finished.is_empty() {
            let beam = &self.beams[self.terms.as_ref().map_or(0, |terms| terms.fullest(self.beams()))];
            let score = beam.score / self.length_divisor(beam.step_logprobs.len().max(1));
            self.finished.push(beam.hypothesis(score));
        }
        self.finished.truncate(self.num_return_sequences);
        self.finished
    }

    /// Sorts best first.
    fn rank_candidates(&mut self, scores: TopScores<'_>) {
        self.candidates.clear();
        for (index, beam) in self.beams[..self.live].iter().enumerate() {
            let row = scores.row(index).map(|(token, logprob)| {
                let score = beam.score + logprob;
                Candidate { beam: index, token, logprob, score, after: 0 }
            });
            self.candidates.extend(row.filter(|candidate| candidate.score > BANNED));
        }
        self.candidates.sort_unstable_by(Candidate::best_first);
    }

    /// Whether more steps can change the finished hypotheses, by `early_stopping`.
    fn may_improve(&self, length: usize) -> bool {
        let Some(worst) = self.finished.get(self.num_beams - 1) else {
            // beams without all terms cannot end, so the wait for as many hypotheses as beams would be long
            let terms = self.terms.as_ref().filter(|terms| terms.is_hard());
            let last = terms.zip(self.finished.get(self.num_return_sequences - 1));
            let divisor = self.length_divisor(length);
            return last.is_none_or(|(terms, last)| terms.may_beat(last.score, self.beams(), divisor));
        };
        let best_length = match self.early_stopping {
            EarlyStopping::Always => return false,
            EarlyStopping::Never if self.length_penalty > 0.0 => self.max_new_tokens,
            EarlyStopping::Never | EarlyStopping::Heuristic => length,
        };
        self.beams[0].score / self.length_divisor(best_length) > worst.score
    }

    fn length_divisor(&self, length: usize) -> f32 {
        length_divisor(length, self.length_penalty)
    }
}
