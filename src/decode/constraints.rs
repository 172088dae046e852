//! Terms that the hypotheses of a sentence must have, or should have.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use super::error::DecodeError;

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

/// What the rest of a search means for its terms.
pub(super) struct SearchLimits<'a> {
    pub num_beams: usize,
    pub samples: bool,
    pub bad_words: &'a [Vec<u32>],
    pub eos: &'a [u32],
    pub max_length: usize,
    pub prompt_length: usize,
    /// Tokens of the maximal length that a forced end takes.
    pub reserved: usize,
}

impl ConstraintMode {
    /// The weight of `soft` without a number.
    pub const WEIGHT: f32 = 2.0;
}

impl fmt::Display for ConstraintMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hard => f.write_str("hard"),
            Self::Soft(weight) => write!(f, "soft:{weight}"),
        }
    }
}

/// `hard`, `soft`, or `soft:WEIGHT`.
impl FromStr for ConstraintMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.strip_prefix("soft:").map(str::parse)) {
            ("hard", _) => Ok(Self::Hard),
            ("soft", _) => Ok(Self::Soft(Self::WEIGHT)),
            (_, Some(Ok(weight))) if f32::is_finite(weight) && weight > 0.0 => Ok(Self::Soft(weight)),
            _ => Err(String::from("write hard, soft, or soft:WEIGHT with a weight above 0")),
        }
    }
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

    pub(super) fn validate(&self, search: &SearchLimits<'_>) -> Result<(), DecodeError> {
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
        if search.samples || search.num_beams < 2 {
            let (kind, instead) = match search.samples {
                true => ("sampling", "do_sample to false"),
                false => ("1 beam", "num_beams to 2 or more"),
            };
            return refuse(format!("given with {kind}"), format!("used in a beam search: set {instead}"));
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
            search.bad_words.iter().any(bans) || form.iter().any(|token| search.eos.contains(token))
        };
        if self.terms.iter().any(|term| term.forms.iter().all(banned)) {
            let allowed = "terms that bad_words_ids does not ban, without end tokens".into();
            return refuse("a term that no hypothesis can have".into(), allowed);
        }
        let needed = self.terms.iter().map(Term::shortest).sum::<usize>() + search.reserved;
        let room = search.max_length.saturating_sub(search.prompt_length);
        if needed > room {
            return refuse(
                format!("{} terms of {needed} tokens, a forced end included", self.terms.len()),
                format!(
                    "at most {room} tokens, by max_length {}: raise it, or weight the terms instead",
                    search.max_length
                ),
            );
        }
        Ok(())
    }
}
