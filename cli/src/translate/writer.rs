//! Translated lines as text, as a list of the best, or as JSON.

use serde::Serialize;
use wordloom::Translation;
use wordloom::translate::{Quality, Sentence, SentenceHypothesis, TextHypothesis};
use wordloom_documents::Match;

use super::super::lines::Line;
use super::super::output::Output;
use super::super::{CliError, notice};

/// The form of the output.
#[derive(Clone, Copy)]
pub struct Form {
    pub n_best: Option<usize>,
    pub json: bool,
    /// Whether JSON says how far each sentence can be trusted.
    pub quality: bool,
}

/// Writes the lines of a round in their order: those of the memory, and those of the model as they come.
pub struct Writer<'a> {
    pub output: &'a mut Output,
    pub lines: &'a [Line],
    pub sources: &'a [&'a str],
    pub known: &'a [Option<Match<'a>>],
    pub form: Form,
    pub next: usize,
    /// The translations so far.
    pub kept: Option<&'a mut Vec<String>>,
}

impl Writer<'_> {
    /// Writes the next lines, as far as the memory has them.
    pub fn write_known(&mut self) -> Result<(), CliError> {
        while let Some(Some(known)) = self.known.get(self.next) {
            let hypothesis = TextHypothesis { text: known.target.to_owned(), score: known.score.ln() };
            let translation = Translation {
                text: known.target.to_owned(),
                hypotheses: vec![hypothesis],
                sentences: Vec::new(),
            };
            self.write_line(&translation, None)?;
        }
        Ok(())
    }

    /// Writes the lines before a translation, and the translation.
    pub fn write(
        &mut self,
        translation: &Translation,
        between: Option<&Translation>,
    ) -> Result<(), CliError> {
        self.write_known()?;
        self.write_line(translation, between)
    }

    fn write_line(
        &mut self,
        translation: &Translation,
        between: Option<&Translation>,
    ) -> Result<(), CliError> {
        let (source, memory) = (self.sources[self.next], self.known[self.next]);
        let line = &self.lines[self.next];
        self.next += 1;
        if let Some(kept) = &mut self.kept {
            kept.push(translation.text.clone());
        }
        write(self.output, line, &Written { source, between, translation, memory }, self.form)
    }
}

/// A line and its translation.
struct Written<'a> {
    source: &'a str,
    /// The text in the language between, if there is one.
    between: Option<&'a Translation>,
    translation: &'a Translation,
    /// The text of the memory that it was taken from.
    memory: Option<Match<'a>>,
}

fn write(output: &mut Output, line: &Line, written: &Written<'_>, form: Form) -> Result<(), CliError> {
    let Written { source, between, translation, .. } = *written;
    between.into_iter().chain([translation]).for_each(|translation| warn_if_cut(line, translation));
    if form.json {
        return output.json(&JsonLine::new(written, form.quality));
    }
    if form.n_best.is_none() {
        return output.line(&format!("{}{}", translation.text, &line.text[source.len()..]));
    }
    for (rank, TextHypothesis { text, score }) in (1..).zip(&translation.hypotheses) {
        output.line(&format!("{rank}\t{score:.4}\t{text}"))?;
    }
    Ok(())
}

fn warn_if_cut(line: &Line, translation: &Translation) {
    let mut hypotheses = translation.sentences.iter().flat_map(|sentence| &sentence.hypotheses);
    if hypotheses.any(|hypothesis| hypothesis.reached_max_length) {
        notice(&format!(
            "warning: line {}: a translation reached the maximal length and may be cut; see --max-length",
            line.number
        ));
    }
}

#[derive(Serialize)]
struct JsonLine<'a> {
    source: &'a str,
    /// Text between two models.
    #[serde(skip_serializing_if = "Option::is_none")]
    intermediate: Option<&'a str>,
    text: &'a str,
    hypotheses: Vec<JsonText<'a>>,
    sentences: Vec<JsonSentence<'a>>,
    /// Only of a translation from a memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<JsonMemory<'a>>,
}

#[derive(Serialize)]
struct JsonMemory<'a> {
    /// Similarity, 1 for an equal text.
    score: f32,
    source: &'a str,
}

#[derive(Serialize)]
struct JsonText<'a> {
    text: &'a str,
    score: f32,
}

#[derive(Serialize)]
struct JsonSentence<'a> {
    source: &'a str,
    source_ids: &'a [u32],
    hypotheses: Vec<JsonHypothesis<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quality: Option<Quality>,
}

#[derive(Serialize)]
struct JsonHypothesis<'a> {
    text: &'a str,
    score: f32,
    tokens: &'a [u32],
    step_logprobs: &'a [f32],
    reached_max_length: bool,
}

impl<'a> JsonLine<'a> {
    fn new(&Written { source, between, translation, memory }: &Written<'a>, quality: bool) -> Self {
        let text = |TextHypothesis { text, score }: &'a TextHypothesis| JsonText { text, score: *score };
        let hypothesis = |hypothesis: &'a SentenceHypothesis| JsonHypothesis {
            text: &hypothesis.text,
            score: hypothesis.search.score,
            tokens: &hypothesis.search.tokens,
            step_logprobs: &hypothesis.search.step_logprobs,
            reached_max_length: hypothesis.reached_max_length,
        };
        let sentence = |sentence: &'a Sentence| JsonSentence {
            source: &sentence.source,
            source_ids: &sentence.source_ids,
            hypotheses: sentence.hypotheses.iter().map(hypothesis).collect(),
            quality: quality.then(|| Quality::of(sentence)).flatten(),
        };
        Self {
            source,
            intermediate: between.map(|between| &*between.text),
            text: &translation.text,
            hypotheses: translation.hypotheses.iter().map(text).collect(),
            sentences: translation.sentences.iter().map(sentence).collect(),
            memory: memory.map(|Match { source, score, .. }| JsonMemory { score, source }),
        }
    }
}
