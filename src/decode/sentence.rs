//! The search of one sentence.

use super::beam::BeamSearch;
use super::hypothesis::{Beam, Hypothesis};
use super::options::{DecodeOptions, MAX_BEAMS};
use super::processors::Processors;
use super::sample::SampleSearch;
use super::step::{StepBuffers, StepScores};
use super::tree::{Fate, Growing, SearchTree};
use crate::scores::TopScores;

/// The search of one sentence: some rows of its batch.
pub struct SentenceSearch {
    strategy: Strategy,
    pub(super) processors: Processors,
    rows: usize,
    pad: u32,
    pub(super) generated: usize,
    finished: bool,
    keeps_tree: bool,
}

enum Strategy {
    Sample(SampleSearch),
    Beam(BeamSearch),
}

impl Strategy {
    /// Hypotheses so far, never empty. In a beam search the growing ones, best first.
    fn beams(&self) -> &[Beam] {
        match self {
            Strategy::Sample(sample) => sample.beams(),
            Strategy::Beam(beam) => beam.beams(),
        }
    }

    /// Incomplete hypotheses with their indices. All have the same length.
    fn waiting(&self) -> impl Iterator<Item = (usize, &Beam)> {
        let waits = |beam: &Beam| match self {
            Strategy::Sample(sample) => !sample.is_complete(beam),
            Strategy::Beam(_) => true,
        };
        self.beams().iter().enumerate().filter(move |(_, beam)| waits(beam))
    }
}

impl SentenceSearch {
    pub(super) fn new(options: &DecodeOptions) -> Self {
        let strategy = match options.num_beams {
            1 => Strategy::Sample(SampleSearch::new(options)),
            _ => Strategy::Beam(BeamSearch::new(options)),
        };
        let processors = Processors::new(options);
        Self {
            strategy,
            processors,
            rows: options.rows(),
            pad: options.pad,
            generated: 0,
            finished: false,
            keeps_tree: false,
        }
    }

    /// Rows that search for nothing.
    pub(super) fn idle(options: &DecodeOptions) -> Self {
        Self { finished: true, ..Self::new(options) }
    }

    /// Whether the result is final.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Tokens, prompt included, of the best growing hypothesis, of the first sample, or of a finished result.
    pub fn best_tokens(&self) -> &[u32] {
        match &self.strategy {
            Strategy::Beam(beam) if self.finished => beam.best_tokens(),
            strategy => &strategy.beams()[0].tokens,
        }
    }

    /// Number of [`best_tokens`](Self::best_tokens) that no later step changes.
    pub fn settled_tokens(&self) -> usize {
        match &self.strategy {
            Strategy::Beam(beam) if !self.finished => beam.settled_tokens(),
            _ => self.best_tokens().len(),
        }
    }

    /// Keeps the candidates of a beam search. Call it before the first step.
    pub(super) fn keep_tree(&mut self) {
        self.keeps_tree = true;
        if let Strategy::Beam(beam) = &mut self.strategy {
            beam.keep_tree();
        }
    }

    /// Returns the kept candidates; of greedy search the chosen tokens.
    pub(super) fn take_tree(&mut self) -> Option<SearchTree> {
        if !std::mem::take(&mut self.keeps_tree) {
            return None;
        }
        match &mut self.strategy {
            Strategy::Beam(beam) => beam.take_tree(),
            Strategy::Sample(sample) => {
                let beam = &sample.beams()[0];
                let mut growing = Growing::new(1, 0.0);
                let (mut sum, count) = (0.0, beam.step_logprobs.len());
                let tokens = &beam.tokens[beam.tokens.len() - count..];
                for (index, (&token, &log_probability)) in tokens.iter().zip(&beam.step_logprobs).enumerate()
                {
                    sum += log_probability;
                    let fate = if index + 1 == count { Fate::Finished } else { Fate::Kept };
                    growing.add(0, token, [log_probability, sum], fate);
                    growing.end_step();
                }
                Some(growing.tree)
            }
        }
    }

    /// Appends the tokens whose scores its terms need, `room` for each of its rows.
    pub(super) fn want(&self, room: usize, step: &mut StepBuffers) {
        match &self.strategy {
            Strategy::Beam(beam) if !self.finished => beam.want(self.rows, room, step),
            _ => step.want_nothing(room * self.rows),
        }
    }

    /// Appends this sentence's rows, beginning at `first_row` of the batch.
    pub(super) fn request(&mut self, first_row: usize, edits_wanted: bool, step: &mut StepBuffers) {
        step.positions.extend(std::iter::repeat_n(self.generated, self.rows));
        if self.finished {
            step.tokens.extend(std::iter::repeat_n(self.pad, self.rows));
            step.parents.extend((first_row..first_row + self.rows).map(|row| row as u32));
            return;
        }
        let Self { strategy, processors, rows, generated, .. } = self;
        let beams = strategy.beams();
        // Rows without a live beam repeat the best one; those of complete samples, their end. No score is read.
        for (row, beam) in beams.iter().chain(std::iter::repeat(&beams[0])).take(*rows).enumerate() {
            // before the first step the rows are in order
            let parent = if *generated == 0 { row } else { beam.parent };
            step.tokens.extend(beam.tokens.last());
            step.parents.push((first_row + parent) as u32);
        }
        for (index, beam) in strategy.waiting() {
            if edits_wanted && processors.forced(beam.tokens.len()).is_none() {
                processors.edit((first_row + index) as u32, &beam.tokens, &mut step.edits);
            }
        }
    }

    fn forced(&self) -> Option<u32> {
        self.strategy.waiting().next().and_then(|(_, beam)| self.processors.forced(beam.tokens.len()))
    }

    /// Whether a needed score is not a number.
    pub(super) fn cannot_use(&self, scores: StepScores<'_>) -> bool {
        !self.finished
            && self.forced().is_none()
            && self.strategy.waiting().any(|(index, _)| {
                scores.row(index).iter().any(|&score| score.is_nan() || score == f32::INFINITY)
            })
    }

    pub(super) fn advance(&mut self, scores: StepScores<'_>) {
        if self.finished {
            return;
        }
        let forced = self.forced().map(|token| [token; MAX_BEAMS]);
        let scores = match &forced {
            Some(tokens) => TopScores { candidates: 1, values: &[0.0; MAX_BEAMS], tokens }.into(),
            None => scores,
        };
        self.finished = match (&mut self.strategy, scores) {
            (Strategy::Sample(sample), scores) => sample.advance(scores),
            (Strategy::Beam(beam), StepScores::Best(best)) => beam.advance(best, None),
            (Strategy::Beam(beam), StepScores::WithTerms(best, offers)) => beam.advance(best, Some(offers)),
            (Strategy::Beam(_), StepScores::Whole { .. }) => unreachable!("only sampling wants whole rows"),
        };
        self.generated += 1;
    }

    pub(super) fn finish(self) -> Vec<Hypothesis> {
        match self.strategy {
            Strategy::Sample(sample) => sample.finish(),
            Strategy::Beam(beam) => beam.finish(),
        }
    }
}
