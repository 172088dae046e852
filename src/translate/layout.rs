//! The sentences of a text, and the white space between them.

use super::document::Excess;
use super::error::TranslateError;
use super::glossary::SentenceTokens;
use super::languages::resolve_languages;
use super::options::TranslateOptions;
use super::translation::{Sentence, TextHypothesis, Translation};
use super::translator::Translator;
use crate::model::config::Positions;
use crate::text::split_lines;
use crate::transformer::{GenerateRequest, resolve};

/// Tokens of a sentence if relative positions set no limit: the length of T5's training texts.
const TOKENS_WITHOUT_LIMIT: usize = 512;

/// A part of a text: white space, or a sentence.
pub enum Segment<'a> {
    Between(&'a str),
    Sentence,
}

/// The text of a sentence.
#[derive(Default)]
pub struct Source {
    pub text: String,
    /// Number of tokens at the end of a document that its request leaves out.
    pub left_out_tokens: usize,
}

#[derive(Default)]
pub struct Sentences {
    pub sources: Vec<Source>,
    pub requests: Vec<GenerateRequest>,
}

impl Translator {
    /// Cuts a text into sentences that fit the model, and makes a request of each.
    pub(super) fn take_apart<'a>(
        &self,
        text: &'a str,
        options: &TranslateOptions,
        sentences: &mut Sentences,
    ) -> Result<Vec<Segment<'a>>, TranslateError> {
        let mut segments = Vec::new();
        let defaults = self.transformer.generation_config();
        let (direction, generation) = resolve_languages(&self.tokenizer, options, defaults)?;
        // A task's words at the beginning are valid for all sentences of the text, if nothing else puts words before each.
        let (task, text) = match options.document.is_none() && direction.text_prefix().is_empty() {
            true => self.tokenizer.split_task(text),
            false => (None, text),
        };
        let direction = match task {
            Some(task) => direction.with_task(task)?,
            None => direction,
        };
        let mut add = |text: &str, left_out_tokens: usize, input_ids: Vec<u32>| {
            let config = self.transformer.config();
            let mut resolved = resolve(&generation, defaults, config, &input_ids)?;
            if let Some(glossary) = &options.glossary {
                let tokenizer = &self.tokenizer;
                let sentence =
                    SentenceTokens { text, input_ids: &input_ids, tokenizer, direction: &direction };
                glossary.constrain(&sentence, &mut resolved);
            }
            sentences.sources.push(Source { text: text.to_owned(), left_out_tokens });
            let global_tokens = config.usual_globals();
            sentences.requests.push(GenerateRequest { input_ids, options: resolved, global_tokens });
            Ok::<_, TranslateError>(())
        };
        if let Some(excess) = options.document {
            let document = text.trim();
            let (before, after) = text.split_at(text.len() - text.trim_start().len());
            if document.is_empty() {
                return Ok(vec![Segment::Between(text)]);
            }
            let (left_out_tokens, input_ids) = self.document_ids(document, options, excess)?;
            add(document, left_out_tokens, input_ids)?;
            return Ok(vec![
                Segment::Between(before),
                Segment::Sentence,
                Segment::Between(&after[document.len()..]),
            ]);
        }
        // So is a language tag.
        let (tag, text) = self.tokenizer.split_tag(text);
        let encode = |text: &str| match tag {
            Some(tag) => self.tokenizer.encode_source(&format!("{tag} {text}"), &direction),
            None => self.tokenizer.encode_source(text, &direction),
        };
        for line in split_lines(text) {
            segments.push(Segment::Between(line.indent));
            let last = line.sentences.len().saturating_sub(1);
            for (index, sentence) in line.sentences.into_iter().enumerate() {
                // an encoding error is reported below, for its part
                let count = |text: &str| encode(text).map_or(0, |ids| ids.len());
                let parts = sentence.split_to_fit(self.max_source_length(generation.max_length), count);
                let last_part = parts.len() - 1;
                for (part_index, part) in parts.into_iter().enumerate() {
                    add(part.text, 0, encode(part.text)?)?;
                    segments.push(Segment::Sentence);
                    // scripts without spaces have none between sentences; their translation may need one
                    let more = index < last || part_index < last_part;
                    segments.push(Segment::Between(if part.space.is_empty() && more {
                        " "
                    } else {
                        part.space
                    }));
                }
            }
            segments.push(Segment::Between(line.end));
        }
        Ok(segments)
    }

    /// The ids of a document that fits the model, after the number of tokens that are left out.
    fn document_ids(
        &self,
        text: &str,
        options: &TranslateOptions,
        excess: Excess,
    ) -> Result<(usize, Vec<u32>), TranslateError> {
        let mut document = self.document(text, options)?;
        let beyond = document.excess();
        if beyond > 0 && excess == Excess::Refuse {
            let (tokens, limit) = (document.input_ids.len(), document.limit);
            return Err(TranslateError::TooLong { tokens, limit });
        }
        document.truncate();
        Ok((beyond, document.input_ids))
    }

    /// Maximal number of source tokens of a sentence: a translation a third longer fits the model's longest output, or the one that is
    /// asked for, if that is longer.
    fn max_source_length(&self, asked: Option<usize>) -> usize {
        let positions = match self.transformer.config().positions {
            Positions::Relative(_) => TOKENS_WITHOUT_LIMIT,
            positions => positions.count(),
        };
        let own = self.transformer.generation_config().max_length.unwrap_or(positions);
        let longest_output = own.max(asked.unwrap_or(0)).min(positions);
        let limit = self.transformer.config().sentence_limit().unwrap_or(usize::MAX);
        (longest_output - longest_output.div_ceil(4)).clamp(2, limit)
    }
}

/// Puts the translations of a text into its white space.
pub fn put_together(layout: &[Segment<'_>], sentences: Vec<Sentence>) -> Translation {
    let ranks = sentences.iter().map(|sentence| sentence.hypotheses.len()).max().unwrap_or(1);
    let hypotheses: Vec<TextHypothesis> = (0..ranks)
        .map(|rank| {
            // a sentence with fewer translations repeats its last
            let mut chosen = sentences
                .iter()
                .filter_map(|sentence| sentence.hypotheses.get(rank).or(sentence.hypotheses.last()));
            let score = chosen.clone().map(|hypothesis| hypothesis.search.score).sum::<f32>()
                / sentences.len().max(1) as f32;
            let text = layout
                .iter()
                .map(|segment| match segment {
                    Segment::Between(space) => space,
                    Segment::Sentence => chosen.next().map_or("", |hypothesis| &hypothesis.text),
                })
                .collect();
            TextHypothesis { text, score }
        })
        .collect();
    Translation { text: hypotheses[0].text.clone(), hypotheses, sentences }
}
