//! Terms that the hypotheses of a sentence must have, or should have.

use std::ops::Range;
use std::sync::Arc;

use super::error::DecodeError;
use super::options::DecodeOptions;

/// Maximal number of terms of a sentence.
pub const MAX_TERMS: usize = 64;
/// Maximal number of forms of a sentence's terms together.
pub const MAX_FORMS: usize = 256;

/// Terms of one sentence's hypotheses; each is a target phrase for one phrase of the source.
///
/// The search is that of Post & Vilar 2018, "Fast Lexically Constrained Decoding with Dynamic Beam Allocation": see
/// `docs/glossary.md`.
#[derive(Debug, Clone, PartialEq)]
pub struct Constraints {
    /// At least one, at most [`MAX_TERMS`].
    pub terms: Vec<Term>,
    /// Whether hypotheses must have the terms.
    pub mode: ConstraintMode,
    /// Source tokens that stand for text: attention to others, such as the end token, says nothing of a place.
    pub text: Range<usize>,
    /// Whether a term that a hypothesis has is not written again, unless another term has the same form.
    pub once: bool,
    /// Target tokens that continue a word, one bit for each: a form does not count where the word goes on. Empty: none.
    pub inside_words: Arc<[u64]>,
}

/// A phrase of the source, and what its translation has to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// Target tokens of each form, any of which will do. None is empty.
    pub forms: Vec<Vec<u32>>,
    /// Source tokens. The search offers the term where attention rests on them; empty: anywhere.
    pub source: Range<usize>,
}

/// The weight of terms in a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ConstraintMode {
    /// No hypothesis ends without every term.
    Hard,
    /// Each token of a term adds this to the logarithm of its probability.
    Soft(f32),
}

impl Term {
    /// Tokens of its longest form.
    pub(super) fn longest(&self) -> usize {
        self.forms.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// Tokens of its shortest form.
    pub(super) fn shortest(&self) -> usize {
        self.forms.iter().map(Vec::len).min().unwrap_or(0)
    }
}

impl Constraints {
    /// Room for the tokens whose scores a step needs, besides the best ones and the end tokens: each form's next, and its first.
    pub(super) fn wanted(&self) -> usize {
        2 * self.terms.iter().map(|term| term.forms.len()).sum::<usize>()
    }

    pub(super) fn continues_word(&self, token: u32) -> bool {
        let word = self.inside_words.get(token as usize / 64);
        word.is_some_and(|bits| bits >> (token % 64) & 1 == 1)
    }

    /// All target tokens of all forms.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = u32> {
        self.terms.iter().flat_map(|term| &term.forms).flatten().copied()
    }

    pub(super) fn validate(&self, options: &DecodeOptions) -> Result<(), DecodeError> {
        let refuse = |value: String, allowed: String| {
            Err(DecodeError::Option { option: "constraints", value, allowed })
        };
        let forms: usize = self.terms.iter().map(|term| term.forms.len()).sum();
        if !(1..=MAX_TERMS).contains(&self.terms.len()) || forms > MAX_FORMS {
            let allowed = format!("1 to {MAX_TERMS} terms with at most {MAX_FORMS} forms together");
            return refuse(format!("{} terms with {forms} forms", self.terms.len()), allowed);
        }
        let empty = |term: &Term| term.forms.is_empty() || term.forms.iter().any(Vec::is_empty);
        if self.terms.iter().any(empty) {
            return refuse("a term without tokens".into(), "terms with forms of at least one token".into());
        }
        if options.sampling.is_some() || options.num_beams < 2 {
            let search = if options.sampling.is_some() { "sampling" } else { "1 beam" };
            return refuse(
                format!("given with {search}"),
                "used in a beam search: set num_beams to 2 or more".into(),
            );
        }
        match self.mode {
            ConstraintMode::Soft(weight) if !(weight.is_finite() && weight > 0.0) => {
                return refuse(format!("weighted {weight}"), "weighted by a finite number above 0".into());
            }
            ConstraintMode::Soft(_) => return Ok(()),
            ConstraintMode::Hard => {}
        }
        let banned = |form: &Vec<u32>| {
            let bans = |word: &Vec<u32>| form.windows(word.len()).any(|part| part == word);
            options.bad_words.iter().any(bans) || form.iter().any(|token| options.eos.contains(token))
        };
        if self.terms.iter().any(|term| term.forms.iter().all(banned)) {
            let allowed = "terms that bad_words_ids does not ban, without end tokens".into();
            return refuse("a term that no hypothesis can have".into(), allowed);
        }
        let needed = self.terms.iter().map(Term::shortest).sum::<usize>() + 1;
        let room = options.max_length.saturating_sub(options.prompt.len());
        if needed > room {
            return refuse(
                format!("{} terms of {needed} tokens, the end included", self.terms.len()),
                format!(
                    "at most {room} tokens, by max_length {}: raise it, or weight the terms instead",
                    options.max_length
                ),
            );
        }
        Ok(())
    }
}
