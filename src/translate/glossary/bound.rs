//! A glossary for one model.

use std::ops::Range;
use std::sync::Arc;

use super::error::GlossaryError;
use super::file::{CaseRule, GlossaryEntry, GlossaryFile};
use super::matching::{Matcher, has_no_spaces, is_hangul};
use crate::decode::{ConstraintMode, Constraints, DecodeOptions, Term};
use crate::model::config::ModelConfig;
use crate::model::generation_config::GenerationConfig;
use crate::text::{Direction, Tokenizer, tokens};
use crate::translate::{TranslateOptions, resolve_languages};

/// Beams of a sentence with terms, where the search would be greedy.
const BEAMS_WITH_TERMS: usize = 4;

/// A glossary bound to a model's target vocabulary; see [`GlossaryFile`] for its lines.
///
/// Sentences without a term are searched exactly as without a glossary. A sentence with terms takes a beam search, of at least
/// 4 beams where the search would be greedy.
#[derive(Debug)]
pub struct Glossary {
    matcher: Matcher,
    entries: Vec<BoundEntry>,
    mode: ConstraintMode,
    inside_words: Arc<[u64]>,
}

#[derive(Debug)]
struct BoundEntry {
    /// Tokens of each form; none if the term stays as it is.
    forms: Vec<Vec<u32>>,
    case: CaseRule,
}

/// What the terms of a sentence depend on.
pub(in crate::translate) struct SentenceTokens<'a> {
    pub text: &'a str,
    pub input_ids: &'a [u32],
    pub tokenizer: &'a Tokenizer,
    pub direction: &'a Direction,
}

impl Glossary {
    /// Binds a glossary to a model, for translations with these options: their languages, task and maximal length.
    ///
    /// * `defaults`: the model's own search options
    ///
    /// # Errors
    /// [`GlossaryError::Languages`]; otherwise as [`new`](Self::new).
    pub fn for_options(
        file: &GlossaryFile,
        tokenizer: &Tokenizer,
        config: &ModelConfig,
        defaults: &GenerationConfig,
        options: &TranslateOptions,
        mode: ConstraintMode,
    ) -> Result<Self, GlossaryError> {
        let (direction, asked) = resolve_languages(tokenizer, options, defaults)?;
        let longest = asked.max_length.or(defaults.max_length).unwrap_or(usize::MAX);
        Self::new(file, tokenizer, &direction, longest.min(config.positions.count()), mode)
    }

    /// Binds a glossary to a model's tokenizer.
    ///
    /// * `longest`: tokens of the model's longest output; see
    ///   [`ModelConfig::positions`](crate::model::config::ModelConfig::positions)
    ///
    /// # Errors
    /// [`GlossaryError::CannotWrite`], [`GlossaryError::TooLong`].
    pub fn new(
        file: &GlossaryFile,
        tokenizer: &Tokenizer,
        direction: &Direction,
        longest: usize,
        mode: ConstraintMode,
    ) -> Result<Self, GlossaryError> {
        let bind = |entry: &GlossaryEntry| {
            let own = [entry.source.clone()];
            let written = if entry.forms.is_empty() { &own[..] } else { &entry.forms };
            let mut forms: Vec<Vec<u32>> = Vec::new();
            for target in with_capitals(written, entry.case) {
                let cannot = || GlossaryError::CannotWrite {
                    file: file.name.clone(),
                    line: entry.line,
                    target: target.clone(),
                };
                let form = form(tokenizer, direction, &target).ok_or_else(cannot)?;
                let written = tokenizer.decode(&form, true).unwrap_or_default();
                if !entry.forms.is_empty() && words(&written) != words(&target) {
                    let (file, line) = (file.name.clone(), entry.line);
                    let written = words(&written).join(" ");
                    return Err(GlossaryError::WritesOtherwise { file, line, target, written });
                }
                let limit = longest.saturating_sub(2);
                if form.len() > limit {
                    let (tokens, target) = (form.len(), target.clone());
                    return Err(GlossaryError::TooLong {
                        file: file.name.clone(),
                        line: entry.line,
                        target,
                        tokens,
                        limit,
                    });
                }
                if !forms.contains(&form) {
                    forms.push(form);
                }
            }
            // what stays as it is, is written as each sentence has it
            let forms = if entry.forms.is_empty() { Vec::new() } else { forms };
            Ok(BoundEntry { forms, case: entry.case })
        };
        Ok(Self {
            matcher: Matcher::new(&file.entries),
            entries: file.entries.iter().map(bind).collect::<Result<_, _>>()?,
            mode,
            inside_words: inside_words(tokenizer),
        })
    }

    /// Adds the terms of a sentence to its search.
    pub(in crate::translate) fn constrain(&self, sentence: &SentenceTokens<'_>, options: &mut DecodeOptions) {
        let found = self.matcher.find(sentence.text);
        if found.is_empty() {
            return;
        }
        let SentenceTokens { text, input_ids, tokenizer, direction } = sentence;
        let source = tokens(tokenizer, input_ids, text, direction.text_prefix(), false);
        let ranges: Vec<Option<[usize; 2]>> = source.iter().map(|token| token.range).collect();
        let terms = found.into_iter().filter_map(|(entry, bytes)| {
            let BoundEntry { forms, case } = &self.entries[entry];
            let forms = match forms.is_empty() {
                false => forms.clone(),
                true => {
                    let same = with_capitals(&[text[bytes.clone()].to_owned()], *case);
                    let forms = same.iter().filter_map(|text| form(tokenizer, direction, text));
                    forms.collect()
                }
            };
            let range = tokens_of(&ranges, |first, end| first < bytes.end && end > bytes.start);
            (!forms.is_empty()).then_some(Term { forms, source: range })
        });
        let terms: Vec<Term> = terms.collect();
        if terms.is_empty() {
            return;
        }
        if options.sampling.is_none() && options.num_beams == 1 {
            options.num_beams = BEAMS_WITH_TERMS;
        }
        options.constraints = Some(Arc::new(Constraints {
            terms,
            mode: self.mode,
            text: tokens_of(&ranges, |_, _| true),
            once: true,
            inside_words: self.inside_words.clone(),
        }));
    }
}

/// The words of a text; how much white space is between them does not matter.
fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// The source tokens from the first to the last whose bytes are wanted.
fn tokens_of(ranges: &[Option<[usize; 2]>], wanted: impl Fn(usize, usize) -> bool) -> Range<usize> {
    let is = |range: &Option<[usize; 2]>| range.is_some_and(|[first, end]| wanted(first, end));
    match (ranges.iter().position(is), ranges.iter().rposition(is)) {
        (Some(first), Some(last)) => first..last + 1,
        _ => 0..0,
    }
}

/// The forms, and those that begin with a lower-case letter also with an upper-case one, unless the case is exact.
fn with_capitals(forms: &[String], case: CaseRule) -> Vec<String> {
    let mut all = forms.to_vec();
    for form in forms.iter().filter(|_| case == CaseRule::Any) {
        let mut characters = form.chars();
        let Some(first) = characters.next().filter(|first| first.is_lowercase()) else { continue };
        all.push(first.to_uppercase().chain(characters).collect());
    }
    all
}

/// The target tokens of a text within a sentence; `None` if the vocabulary cannot write it.
fn form(tokenizer: &Tokenizer, direction: &Direction, text: &str) -> Option<Vec<u32>> {
    let ids = tokenizer.encode_words(text, direction).ok()?;
    let unwritable = |&id: &u32| {
        tokenizer.is_special(id) || tokenizer.target_token(id).is_none_or(|token| token == "<unk>")
    };
    (!ids.is_empty() && !ids.iter().any(unwritable)).then_some(ids)
}

/// Target tokens that continue a word, one bit each. In scripts without spaces, and in Korean, none do.
fn inside_words(tokenizer: &Tokenizer) -> Arc<[u64]> {
    let [_, (last, _)] = tokenizer.last_tokens();
    let mut bits = vec![0u64; last as usize / 64 + 1];
    let mut marks = false;
    for id in (0..=last).filter(|&id| !tokenizer.is_special(id)) {
        let Some(piece) = tokenizer.target_token(id) else { continue };
        let word_piece = piece.strip_prefix("##");
        marks |= piece.starts_with(['▁', 'Ġ']) || word_piece.is_some();
        let first = word_piece.unwrap_or(&piece).chars().next();
        let goes_on = first.is_some_and(|c| c.is_alphanumeric() && !has_no_spaces(c) && !is_hangul(c));
        if goes_on && !piece.starts_with(['▁', 'Ġ']) {
            bits[id as usize / 64] |= 1 << (id % 64);
        }
    }
    // a vocabulary without marks for the beginning of a word says nothing about its end
    if marks { bits.into() } else { Arc::new([]) }
}
