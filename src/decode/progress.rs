//! What a hypothesis has of its terms. It follows from the tokens, and from the terms that attention rested on.

use super::constraints::{ConstraintMode, Constraints, Term};

/// What a hypothesis has of its terms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Progress {
    /// Terms that it has, one bit each.
    met: u64,
    /// Number of tokens that no further term can use.
    used: usize,
    /// The term that its last token completed: it does not count if the word goes on.
    last: Option<Last>,
    /// Tokens of the terms that it has, of those that began at their place.
    placed: usize,
    /// Number of the terms that it has, of those that began elsewhere.
    away: usize,
}

/// What is as it was before the last term, if that term breaks off.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Last {
    term: usize,
    used: usize,
    placed: usize,
    away: usize,
}

/// What a term costs that begins away from its place: as much as a word that the model hardly ever writes.
const AWAY: f32 = 10.0;

/// A part of a form at the end of a hypothesis.
#[derive(Clone, Copy)]
pub(super) struct Begun<'a> {
    pub term: usize,
    form: &'a [u32],
    length: usize,
    /// Whether it began where attention rested on the source of the term.
    pub placed: bool,
}

impl Begun<'_> {
    pub fn next_token(&self) -> u32 {
        self.form[self.length]
    }
}

/// The tokens of a hypothesis after the prompt, and of each the terms that attention rested on, one bit each.
#[derive(Clone, Copy)]
pub(super) struct History<'a> {
    pub tokens: &'a [u32],
    pub places: &'a [u64],
}

impl Progress {
    pub fn has(&self, term: usize) -> bool {
        self.met >> term & 1 == 1
    }

    pub fn has_all(&self, constraints: &Constraints) -> bool {
        self.met.count_ones() as usize == constraints.terms.len()
    }

    fn open<'a>(&self, constraints: &'a Constraints) -> impl Iterator<Item = (usize, &'a Term)> + use<'a> {
        let met = self.met;
        constraints.terms.iter().enumerate().filter(move |(index, _)| met >> index & 1 == 0)
    }

    /// The longest part of each form of an open term that the hypothesis ends with.
    pub fn begun<'a>(
        &self,
        constraints: &'a Constraints,
        history: History<'a>,
    ) -> impl Iterator<Item = Begun<'a>> + use<'a> {
        let tokens = &history.tokens[self.used..];
        let end = history.tokens.len();
        self.open(constraints).flat_map(move |(term, Term { forms, .. })| {
            forms.iter().filter_map(move |form| {
                let longest = tokens.len().min(form.len() - 1);
                let length = (1..=longest).rev().find(|&length| tokens.ends_with(&form[..length]))?;
                let placed = history.places[end - length] >> term & 1 == 1;
                Some(Begun { term, form, length, placed })
            })
        })
    }

    /// First tokens of the forms of open terms, with their terms.
    pub fn beginnings<'a>(
        &self,
        constraints: &'a Constraints,
    ) -> impl Iterator<Item = (usize, u32)> + use<'a> {
        self.open(constraints).flat_map(|(index, term)| term.forms.iter().map(move |form| (index, form[0])))
    }

    /// Whether the last tokens are a form of a term that the hypothesis had already, and of no open one.
    pub fn repeats(&self, constraints: &Constraints, history: History<'_>) -> bool {
        let tokens = &history.tokens[self.used..];
        let ends = |term: &Term| term.forms.iter().any(|form| tokens.ends_with(form));
        let mut met = constraints.terms.iter().enumerate().filter(|(index, _)| self.has(*index));
        met.any(|(_, term)| ends(term)) && self.begun(constraints, history).next().is_none()
    }

    /// Whether `token` continues the word that the last token is in, and is not part of an open term.
    pub fn goes_on(&self, constraints: &Constraints, history: History<'_>, token: u32) -> bool {
        constraints.continues_word(token)
            && self.beginnings(constraints).all(|(_, first)| first != token)
            && self.begun(constraints, history).all(|begun| begun.next_token() != token)
    }

    /// The progress after a token, the last of `history`.
    pub fn after(mut self, constraints: &Constraints, history: History<'_>) -> Self {
        let Some((&token, before)) = history.tokens.split_last() else { return self };
        let before = History { tokens: before, places: &history.places[..before.len()] };
        if let Some(last) = self.last
            && self.goes_on(constraints, before, token)
        {
            self.met &= !(1 << last.term);
            (self.used, self.placed, self.away) = (last.used, last.placed, last.away);
        }
        self.last = None;
        let tokens = &history.tokens[self.used..];
        let complete = self.open(constraints).flat_map(|(index, term)| {
            let ends = term.forms.iter().filter(|form| tokens.ends_with(form));
            ends.map(move |form| {
                let placed = history.places[history.tokens.len() - form.len()] >> index & 1 == 1;
                (form.len(), placed, std::cmp::Reverse(index))
            })
        });
        // of terms with the same form the one whose place this is, or else the first
        if let Some((length, placed, std::cmp::Reverse(term))) = complete.max() {
            self.last = Some(Last { term, used: self.used, placed: self.placed, away: self.away });
            self.met |= 1 << term;
            self.used = history.tokens.len();
            self.placed += if placed { length } else { 0 };
            self.away += usize::from(!placed);
        }
        self
    }

    /// Tokens of terms so far: hypotheses with as many share a bank.
    ///
    /// * `anywhere`: whether a term counts that has begun away from its place
    pub fn bank(&self, constraints: &Constraints, history: History<'_>, anywhere: bool) -> usize {
        let met = constraints.terms.iter().enumerate().filter(|(index, _)| self.has(*index));
        let begun = self.begun(constraints, history).filter(|begun| begun.placed || anywhere);
        met.map(|(_, term)| term.longest()).sum::<usize>()
            + begun.map(|begun| begun.length).max().unwrap_or(0)
    }

    /// Least number of tokens until the hypothesis has every term.
    pub fn needed(&self, constraints: &Constraints, history: History<'_>) -> usize {
        let all: usize = self.open(constraints).map(|(_, term)| term.shortest()).sum();
        let saved = self.begun(constraints, history).map(|begun| {
            let left = begun.form.len() - begun.length;
            constraints.terms[begun.term].shortest().saturating_sub(left)
        });
        all - saved.max().unwrap_or(0)
    }

    /// Open terms that have not begun at their place, one bit each.
    pub fn missing(&self, constraints: &Constraints, history: History<'_>) -> u64 {
        let begun = self.begun(constraints, history).filter(|begun| begun.placed);
        let begun = begun.fold(0, |bits, begun| bits | 1 << begun.term);
        self.open(constraints).fold(0, |bits, (term, _)| bits | 1u64 << term) & !begun
    }

    /// Sum of what terms add to the scores of a hypothesis. A term that breaks off loses what it had.
    pub fn reward(&self, constraints: &Constraints, history: History<'_>) -> f32 {
        let ConstraintMode::Soft(weight) = constraints.mode else { return -AWAY * self.away as f32 };
        let begun = self.begun(constraints, history).filter(|begun| begun.placed);
        weight * (self.placed + begun.map(|begun| begun.length).max().unwrap_or(0)) as f32
    }
}
