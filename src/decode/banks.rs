//! Candidates of a beam search with terms: what each hypothesis is offered, and which of them become beams.
//! Post & Vilar 2018, section 3.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::Arc;

use super::constraints::{ConstraintMode, Constraints};
use super::hypothesis::Beam;
use super::options::DecodeOptions;
use super::progress::{History, Progress};
use super::step::Offers;
use crate::scores::{BANNED, NO_TOKEN, TopScores};
use crate::sorting;

/// Share of the largest attention of a step that a term's source needs, for the step to be a place of the term.
const RESTS: f32 = 0.5;
/// Share of all attention to text that a term's source needs, so that the term has been missed when attention goes on.
const RESTS_SURELY: f32 = 0.6;

/// Turns that a candidate waits if a better one has more of the terms: banks are there to keep hypotheses with more terms and lower
/// scores, and few beams go further without those that have neither.
const SURPASSED: usize = 2;

/// Length of a usual translation, at most: a multiple of the source's tokens, and some more. A longer hypothesis has lost its way: it is
/// offered its terms anywhere, because attention may rest on their sources no more, and their tokens count for its bank.
const USUAL: [usize; 2] = [2, 10];

/// A token that may continue a beam.
#[derive(Clone, Copy)]
pub(super) struct Candidate {
    pub beam: usize,
    pub token: u32,
    /// With the reward of terms.
    pub logprob: f32,
    /// Of the beam with the token.
    pub score: f32,
    /// Index into the progresses after candidates; 0 without terms.
    pub after: usize,
}

impl Candidate {
    /// Best first. Equal scores by beam, then by token, as in HF's flattened `[beams * vocabulary]` scores.
    pub fn best_first(&self, other: &Self) -> std::cmp::Ordering {
        let by_score = other.score.total_cmp(&self.score);
        by_score.then(self.beam.cmp(&other.beam)).then(self.token.cmp(&other.token))
    }
}

/// The terms of a beam search.
pub(super) struct Terms {
    constraints: Arc<Constraints>,
    eos: Vec<u32>,
    prompt_length: usize,
    max_new_tokens: usize,
    num_beams: usize,
    /// Tokens that must follow the last term: a forced end.
    reserve: usize,
    /// Of each beam.
    beams: Vec<Tracked>,
    next_beams: Vec<Tracked>,
    // Buffers of a step.
    after: Vec<After>,
    rests: Vec<Rests>,
    tokens: Vec<u32>,
    places: Vec<u64>,
}

#[derive(Clone, Default)]
struct Tracked {
    progress: Progress,
    /// Of each token after the prompt, terms on which attention rested.
    places: Vec<u64>,
    /// Terms on which attention surely rested before.
    rested: u64,
}

/// Terms on which the attention of a beam rests in a step, one bit each.
#[derive(Clone, Copy, Default)]
struct Rests {
    here: u64,
    surely: u64,
}

/// What a candidate would lead to.
#[derive(Clone, Copy)]
struct After {
    progress: Progress,
    bank: usize,
    /// Whether attention has gone on from a term that was not written.
    missed: bool,
    /// Whether all terms can still be met.
    fits: bool,
    /// Whether it would leave a term that was written twice.
    repeats: bool,
    rank: usize,
}

impl Terms {
    pub fn new(options: &DecodeOptions) -> Option<Self> {
        let constraints = options.constraints.clone()?;
        Some(Self {
            constraints,
            eos: options.eos.clone(),
            prompt_length: options.prompt.len(),
            max_new_tokens: options.max_length - options.prompt.len(),
            num_beams: options.num_beams,
            reserve: options.reserved_for_end(),
            beams: vec![Tracked::default(); options.num_beams],
            next_beams: vec![Tracked::default(); options.num_beams],
            after: Vec::new(),
            rests: Vec::new(),
            tokens: Vec::new(),
            places: Vec::new(),
        })
    }

    /// Appends the tokens whose scores the next step of a beam needs, `room` of them.
    pub fn want(&self, index: usize, beam: &Beam, room: usize, wanted: &mut Vec<u32>) {
        let Tracked { progress, places, .. } = &self.beams[index];
        let history = History { tokens: &beam.tokens[self.prompt_length..], places };
        let first = wanted.len();
        let begun = progress.begun(&self.constraints, history).map(|begun| begun.next_token());
        let beginnings = progress.beginnings(&self.constraints).map(|(_, token)| token);
        for token in self.eos.iter().copied().chain(begun).chain(beginnings) {
            if !wanted[first..].contains(&token) {
                wanted.push(token);
            }
        }
        wanted.resize(first + room, NO_TOKEN);
    }

    /// Ranks the continuations of all beams. `candidates` become those that end, at most as many as there are beams, and then those
    /// that go on, at most as many; both best first. `offers` is `None` in a step whose token is forced.
    pub fn rank(
        &mut self,
        beams: &[Beam],
        best: TopScores<'_>,
        offers: Option<Offers<'_>>,
        candidates: &mut Vec<Candidate>,
    ) {
        candidates.clear();
        self.after.clear();
        self.rests.clear();
        for (index, beam) in beams.iter().enumerate() {
            self.offer(index, beam, best, offers, candidates);
        }
        let hard = self.is_hard();
        let after = &self.after;
        // rather a term too many, or too few, than nothing
        let fits = |candidate: &&Candidate| !hard || after[candidate.after].fits;
        let is_new = |candidate: &&Candidate| !after[candidate.after].repeats;
        if candidates.iter().filter(fits).any(|candidate| is_new(&candidate)) {
            candidates.retain(|candidate| fits(&candidate) && is_new(&candidate));
        } else if candidates.iter().any(|candidate| fits(&candidate)) {
            candidates.retain(|candidate| fits(&candidate));
        }
        candidates.sort_unstable_by(Candidate::best_first);
        if hard {
            self.choose(beams, candidates);
        }
    }

    /// Adds the candidates of one beam.
    fn offer(
        &mut self,
        index: usize,
        beam: &Beam,
        best: TopScores<'_>,
        offers: Option<Offers<'_>>,
        candidates: &mut Vec<Candidate>,
    ) {
        let constraints = self.constraints.clone();
        let generated = &beam.tokens[self.prompt_length..];
        let progress = self.beams[index].progress;
        let rests = offers.map_or(Rests::default(), |offers| self.rests(offers.attention_of(index)));
        let (mask, rested) = (rests.here, self.beams[index].rested);
        self.rests.push(rests);
        self.tokens.clear();
        self.tokens.extend(generated);
        self.places.clone_from(&self.beams[index].places);
        let history = History { tokens: &self.tokens, places: &self.places };
        let before = progress.reward(&constraints, history);
        let repeats = constraints.once && progress.repeats(&constraints, history);
        let left = self.max_new_tokens - generated.len();
        let ends = |token: u32| self.eos.contains(&token);
        let mut found: Vec<(u32, f32)> = best.row(index).filter(|&(_, logprob)| logprob > BANNED).collect();
        let wants_end = found.iter().take(self.num_beams).any(|&(token, _)| ends(token));
        let too_long = self.is_long(generated.len());
        let urgent = wants_end || too_long || progress.needed(&constraints, history) + self.reserve >= left;
        let mut offered: Vec<u32> = progress
            .begun(&constraints, history)
            .filter(|begun| begun.placed || urgent)
            .map(|begun| begun.next_token())
            .collect();
        if offered.is_empty() || urgent {
            let here = |&(term, _): &(usize, u32)| urgent || mask >> term & 1 == 1;
            offered.extend(progress.beginnings(&constraints).filter(here).map(|(_, token)| token));
        }
        if progress.has_all(&constraints) {
            offered.extend(&self.eos);
        }
        let scores = offers.into_iter().flat_map(|offers| offers.wanted.row(index));
        for (token, logprob) in scores.filter(|(token, logprob)| offered.contains(token) && *logprob > BANNED)
        {
            if found.iter().all(|&(other, _)| other != token) {
                found.push((token, logprob));
            }
        }
        for (token, logprob) in found {
            let goes_on =
                progress.goes_on(&constraints, History { tokens: &self.tokens, places: &self.places }, token);
            self.tokens.push(token);
            self.places.push(mask);
            let history = History { tokens: &self.tokens, places: &self.places };
            let next = progress.after(&constraints, history);
            let (needed, is_end) = (next.needed(&constraints, history), self.eos.contains(&token));
            let logprob = logprob + (next.reward(&constraints, history) - before);
            candidates.push(Candidate {
                beam: index,
                token,
                logprob,
                score: beam.score + logprob,
                after: self.after.len(),
            });
            self.after.push(After {
                progress: next,
                bank: next.bank(&constraints, history, too_long),
                missed: rested & !mask & next.missing(&constraints, history) != 0,
                fits: needed == 0 || !is_end && needed + self.reserve < left,
                repeats: repeats && !goes_on,
                rank: 0,
            });
            self.tokens.pop();
            self.places.pop();
        }
    }

    /// Whether a hypothesis is longer than a usual translation. Terms without a source say nothing of that.
    fn is_long(&self, generated: usize) -> bool {
        let Constraints { terms, text, .. } = &*self.constraints;
        generated > USUAL[0] * text.len() + USUAL[1] && terms.iter().any(|term| !term.source.is_empty())
    }

    /// Where attention rests; terms without a source are at their place anywhere.
    fn rests(&self, attention: &[f32]) -> Rests {
        let Constraints { terms, text, .. } = &*self.constraints;
        let of = |range: &Range<usize>| attention.get(range.clone()).unwrap_or_default();
        let largest = |range: &Range<usize>| of(range).iter().copied().fold(0.0, f32::max);
        let sum = |range: &Range<usize>| of(range).iter().sum::<f32>();
        let (rests, rests_surely) = (RESTS * largest(text), RESTS_SURELY * sum(text));
        let bits = |is: &dyn Fn(&Range<usize>) -> bool| {
            terms
                .iter()
                .enumerate()
                .fold(0, |bits, (index, term)| bits | u64::from(is(&term.source)) << index)
        };
        Rests {
            here: bits(&|source| source.is_empty() || attention.is_empty() || largest(source) >= rests),
            surely: bits(&|source| !source.is_empty() && sum(source) > rests_surely),
        }
    }

    /// Keeps the best of each bank in turn, those of the fullest first, as far as there are beams. A candidate that a better one of a
    /// fuller bank surpasses waits for two more turns. Hypotheses that have missed a term come last.
    fn choose(&mut self, beams: &[Beam], candidates: &mut Vec<Candidate>) {
        let Self { after, eos, num_beams, max_new_tokens, .. } = self;
        let length = beams.first().map_or(0, |beam| beam.step_logprobs.len()) + 1;
        let ends = |candidate: &Candidate| length >= *max_new_tokens || eos.contains(&candidate.token);
        // number of better candidates in the same bank: of all, where a hypothesis ends; of those that go on, elsewhere
        let mut seen: Vec<((bool, usize), usize, usize)> = Vec::new();
        let mut fullest = [0; 2];
        for candidate in candidates.iter() {
            let after = &mut after[candidate.after];
            let bank = (after.missed, after.bank);
            let place = seen.iter().position(|&(other, ..)| other == bank).unwrap_or(seen.len());
            if place == seen.len() {
                seen.push((bank, 0, 0));
            }
            let (_, all, going) = &mut seen[place];
            let fullest = &mut fullest[usize::from(after.missed)];
            after.rank = match ends(candidate) {
                true => *all,
                // a better one with more of the terms takes its turn
                false if after.bank < *fullest => *going + SURPASSED,
                false => *going,
            };
            *all += 1;
            if !ends(candidate) {
                *going += 1;
                *fullest = after.bank.max(*fullest);
            }
        }
        let (mut ending, mut going): (Vec<Candidate>, Vec<Candidate>) =
            candidates.iter().partition(|candidate| ends(candidate));
        ending.retain(|candidate| after[candidate.after].rank < *num_beams);
        ending.truncate(*num_beams);
        sorting::sort_by_key(&mut going, |candidate| {
            let After { missed, rank, bank, .. } = after[candidate.after];
            (missed, rank, Reverse(bank))
        });
        going.truncate(*num_beams);
        going.sort_unstable_by(Candidate::best_first);
        candidates.clear();
        candidates.append(&mut ending);
        candidates.append(&mut going);
    }

    /// Whether a beam may still become a better hypothesis than one that is finished, if it ended now. Those that have missed a term do
    /// not count.
    pub fn may_beat(&self, finished: f32, beams: &[Beam], divisor: f32) -> bool {
        let hopeful = beams.iter().zip(&self.beams).filter(|(beam, Tracked { progress, places, rested })| {
            let history = History { tokens: &beam.tokens[self.prompt_length..], places };
            rested & progress.missing(&self.constraints, history) == 0
        });
        hopeful.into_iter().any(|(beam, _)| beam.score / divisor > finished)
    }

    pub fn is_hard(&self) -> bool {
        self.constraints.mode == ConstraintMode::Hard
    }

    /// Gives a candidate the place of a beam of the next step.
    pub fn keep(&mut self, place: usize, candidate: &Candidate) {
        let Self { beams, next_beams, after, rests, .. } = self;
        let next = &mut next_beams[place];
        next.progress = after[candidate.after].progress;
        next.places.clone_from(&beams[candidate.beam].places);
        let Rests { here, surely } = rests[candidate.beam];
        next.places.push(here);
        next.rested = beams[candidate.beam].rested | surely;
    }

    /// Goes to the next step, with the kept candidates.
    pub fn end_step(&mut self) {
        std::mem::swap(&mut self.beams, &mut self.next_beams);
    }

    /// Of beams, the one that has the most of its terms; of equal ones the first.
    pub fn fullest(&self, beams: &[Beam]) -> usize {
        let bank = |index: usize| {
            let Tracked { progress, places, .. } = &self.beams[index];
            progress.bank(
                &self.constraints,
                History { tokens: &beams[index].tokens[self.prompt_length..], places },
                false,
            )
        };
        (0..beams.len()).max_by_key(|&index| (bank(index), Reverse(index))).unwrap_or(0)
    }
}
