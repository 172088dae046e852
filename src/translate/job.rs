//! Sentences of several texts, searched in common batches. The texts come out in their order.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::alignment::SentenceAlignment;
use super::error::TranslateError;
use super::layout::{Segment, Sentences, Source, put_together};
use super::options::TranslateOptions;
use super::translation::{Sentence, Translation};
use super::translator::Translator;
use crate::decode::Hypothesis;
use crate::text::TextError;
use crate::transformer::{GenerateRequest, Generation, Keep, Progress};

/// Progress of a translation.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// Translations of the next complete texts, in order; often none.
    pub translations: Vec<Translation>,
    /// Number of finished sentences of all texts.
    pub sentences: usize,
    /// Number of sentences of all texts.
    pub of_sentences: usize,
    /// Finished part of the work, 0 to 1, counted in source tokens.
    pub fraction: f32,
    /// Finished part of the encoder, 0 to 1, if a text is so long that it is read for a while.
    pub encoding: Option<f32>,
}

/// Texts and the results of their sentences so far.
pub struct Job<'a> {
    translator: &'a Translator,
    layouts: Vec<Vec<Segment<'a>>>,
    sources: Vec<Source>,
    requests: Vec<GenerateRequest>,
    /// Index of the first equal request, for each request.
    firsts: Vec<usize>,
    /// Results, at the indices of first requests.
    results: Vec<Option<Generation>>,
    /// Number of requests that share each first one's result; 0 for the others.
    equals: Vec<usize>,
    /// Sentences that have results, and those of all texts.
    done: Amount,
    all: Amount,
    /// Alignments of sentences that are done, if they are kept.
    alignments: Vec<Option<SentenceAlignment>>,
    /// Sentences that have to be searched: one of those that are equal, and none that the cache has.
    pub searched: Vec<usize>,
    keep: Keep,
    /// Whether an alignment has to be there, too.
    aligns: bool,
    /// Texts that have been handed out.
    handed_out: usize,
    next: usize,
    /// Index of the text that is shown during its search, and of its first sentence.
    shown: [usize; 2],
    /// Translations of finished sentences that were shown.
    texts: Vec<OnceCell<String>>,
    running: Vec<Running>,
    encoding: Option<f32>,
    pub has_news: bool,
}

#[derive(Clone, Copy, Default)]
struct Amount {
    sentences: usize,
    source_tokens: usize,
}

impl Amount {
    fn add(&mut self, sentences: usize, request: &GenerateRequest) {
        self.sentences += sentences;
        self.source_tokens += sentences * request.input_ids.len();
    }
}

struct Running {
    sentence: usize,
    tokens: Vec<u32>,
    /// Number of tokens that will not change.
    settled: usize,
    finished: bool,
}

impl<'a> Job<'a> {
    /// * `reuse`: whether equal sentences share one result, if nothing else is kept of them
    pub fn new(
        translator: &'a Translator,
        texts: &[&'a str],
        options: &TranslateOptions,
        reuse: bool,
    ) -> Result<Self, TranslateError> {
        let mut sentences = Sentences::default();
        let layouts = texts.iter().map(|text| translator.take_apart(text, options, &mut sentences));
        let layouts = layouts.collect::<Result<Vec<_>, _>>()?;
        let Sentences { sources, requests } = sentences;
        let reuse = reuse && options.kept_by_search().is_nothing();
        let firsts = match reuse {
            true => first_of_equals(&requests),
            false => (0..requests.len()).collect(),
        };
        let mut equals = vec![0; requests.len()];
        firsts.iter().for_each(|&first| equals[first] += 1);
        let mut all = Amount::default();
        requests.iter().for_each(|request| all.add(1, request));
        let mut job = Self {
            translator,
            layouts,
            sources,
            equals,
            done: Amount::default(),
            all,
            results: vec![None; requests.len()],
            alignments: vec![None; requests.len()],
            texts: vec![OnceCell::new(); requests.len()],
            requests,
            firsts,
            searched: Vec::new(),
            keep: options.keep.clone(),
            aligns: options.alignments,
            handed_out: 0,
            next: 0,
            shown: [0, 0],
            running: Vec::new(),
            encoding: None,
            has_news: false,
        };
        job.recall(reuse);
        job.has_news = job.next_is_done();
        Ok(job)
    }

    /// Lists the sentences to search. With `reuse`, takes results from the cache.
    fn recall(&mut self, reuse: bool) {
        let translator = self.translator;
        let mut cache = translator.cache.lock().unwrap_or_else(PoisonError::into_inner);
        for index in 0..self.requests.len() {
            if self.firsts[index] != index {
                continue;
            }
            match cache.get(&self.requests[index]).filter(|_| reuse) {
                Some(hypotheses) => {
                    self.set_result(index, Generation { hypotheses, ..Generation::default() });
                }
                None => self.searched.push(index),
            }
        }
        let reused = (self.requests.len() - self.searched.len()) as u64;
        self.translator.reused.fetch_add(reused, Ordering::Relaxed);
    }

    fn next_is_done(&self) -> bool {
        let layout = self.layouts.get(self.handed_out);
        layout
            .is_some_and(|layout| (self.next..self.next + sentences_of(layout)).all(|one| self.is_done(one)))
    }

    fn is_done(&self, sentence: usize) -> bool {
        let first = self.firsts[sentence];
        self.results[first].as_ref().is_some_and(|found| {
            (self.alignments[first].is_some() || !self.aligns)
                && (found.tree.is_some() || !self.keep.tree)
                && (found.attention.is_some() || self.keep.attention.is_none())
        })
    }

    pub fn requests(&self, sentences: &[usize]) -> Vec<GenerateRequest> {
        sentences.iter().map(|&sentence| self.requests[sentence].clone()).collect()
    }

    /// Takes the progress of a search of `sentences`.
    ///
    /// * `steps`: whether the text is shown during its search
    pub fn follow(&mut self, sentences: &[usize], steps: bool, progress: Progress<'_>) {
        self.encoding = None;
        match progress {
            Progress::Encoding { fraction, .. } => {
                self.encoding = Some(fraction);
                self.has_news = true;
            }
            Progress::Step { requests, search } if steps => {
                self.running.clear();
                self.running.extend(requests.iter().zip(search.sentences()).map(|(&request, search)| {
                    Running {
                        sentence: sentences[request],
                        tokens: search.best_tokens().to_vec(),
                        settled: search.settled_tokens(),
                        finished: search.is_finished(),
                    }
                }));
                self.has_news = true;
            }
            Progress::Step { .. } => {}
            Progress::Finished { requests, hypotheses } => {
                for (&request, hypotheses) in requests.iter().zip(hypotheses) {
                    self.found(sentences[request], hypotheses);
                }
                self.has_news = true;
            }
        }
    }

    fn found(&mut self, first: usize, hypotheses: &[Hypothesis]) {
        let mut cache = self.translator.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.put(&self.requests[first], hypotheses);
        self.set_result(first, Generation { hypotheses: hypotheses.to_vec(), ..Generation::default() });
    }

    /// A sentence's source and its token ids.
    pub fn input(&self, sentence: usize) -> (&str, &[u32]) {
        (&self.sources[sentence].text, &self.requests[sentence].input_ids)
    }

    /// Adds the alignment of a sentence.
    pub fn align(&mut self, sentence: usize, alignment: SentenceAlignment) {
        self.alignments[sentence] = Some(alignment);
    }

    /// Adds what was kept of sentences besides their hypotheses.
    pub fn keep(&mut self, sentences: &[usize], found: Vec<Generation>) {
        for (&sentence, found) in sentences.iter().zip(found) {
            self.set_result(sentence, found);
        }
        self.has_news = true;
    }

    fn set_result(&mut self, first: usize, found: Generation) {
        if self.results[first].replace(found).is_none() {
            self.done.add(self.equals[first], &self.requests[first]);
        }
    }

    /// Returns the progress, with the texts that are now complete.
    pub fn update(&mut self) -> Result<Update, TextError> {
        self.has_news = false;
        let mut translations = Vec::new();
        while self.next_is_done() {
            let layout = &self.layouts[self.handed_out];
            let count = sentences_of(layout);
            let sentences = (self.next..self.next + count)
                .map(|index| {
                    let Source { text, left_out_tokens } = std::mem::take(&mut self.sources[index]);
                    let found = self.results[self.firsts[index]].clone().unwrap_or_default();
                    let alignment = self.alignments[index].take();
                    let sentence = self.translator.sentence(text, &self.requests[index], found)?;
                    Ok(Sentence { left_out_tokens, alignment, ..sentence })
                })
                .collect::<Result<Vec<_>, TextError>>()?;
            translations.push(put_together(layout, sentences));
            self.next += count;
            self.handed_out += 1;
            if self.handed_out < self.layouts.len() {
                self.shown = [self.handed_out, self.next];
            }
        }
        let Self { done, all, .. } = self;
        Ok(Update {
            translations,
            sentences: done.sentences,
            of_sentences: all.sentences,
            encoding: self.encoding,
            fraction: match all.source_tokens {
                0 => 1.0,
                tokens => (done.source_tokens as f64 / tokens as f64) as f32,
            },
        })
    }

    /// The first text that was not handed out, or else the last: its stable part, and the part that may still change.
    pub fn text(&self) -> (String, String) {
        let (mut stable, mut provisional) = (String::new(), String::new());
        let mut settled = true;
        let [shown, first] = self.shown;
        let mut sentences = first..;
        for segment in self.layouts.get(shown).into_iter().flatten() {
            let (text, settled_length) = match segment {
                Segment::Between(space) => ((*space).to_owned(), space.len()),
                // nothing is shown from a sentence on that has no word yet
                Segment::Sentence => match sentences.next().and_then(|index| self.partial(index)) {
                    Some(partial) => partial,
                    None => break,
                },
            };
            if settled {
                stable += &text[..settled_length];
                provisional += &text[settled_length..];
                settled = settled_length == text.len();
            } else {
                provisional += &text;
            }
        }
        (stable, provisional)
    }

    /// The translation of a sentence so far, and its settled length in bytes.
    fn partial(&self, index: usize) -> Option<(String, usize)> {
        let first = self.firsts[index];
        let source = &self.requests[first].input_ids;
        let whole = |text: String| {
            let length = text.len();
            Some((text, length))
        };
        if let Some(found) = &self.results[first] {
            let text =
                self.texts[first].get_or_init(|| self.translator.decode(source, &found.hypotheses[0].tokens));
            return whole(text.clone());
        }
        let running = self.running.iter().find(|running| running.sentence == first)?;
        let text = self.translator.decode(source, &running.tokens);
        if running.finished {
            return whole(text);
        }
        let settled = self.translator.decode(source, &running.tokens[..running.settled]);
        let common = text.bytes().zip(settled.bytes()).take_while(|(a, b)| a == b).count();
        // the next tokens may change the end: complete a character, or remove a space before a full stop
        let kept = &settled[..settled.floor_char_boundary(common)];
        let kept = kept.split(char::REPLACEMENT_CHARACTER).next().unwrap_or_default();
        let settled_length = kept.floor_char_boundary(kept.len().saturating_sub(LOOSE_END));
        Some((text, settled_length)).filter(|(text, _)| !text.is_empty())
    }
}

fn sentences_of(layout: &[Segment<'_>]) -> usize {
    layout.iter().filter(|segment| matches!(segment, Segment::Sentence)).count()
}

/// Bytes at the end of a translation that later tokens can change: a space before `n't` is removed.
const LOOSE_END: usize = 4;

/// Index of the first equal request, for each request.
fn first_of_equals<'a>(requests: &'a [GenerateRequest]) -> Vec<usize> {
    let mut by_ids = HashMap::with_capacity(requests.len());
    let first = |(index, request): (usize, &'a GenerateRequest)| {
        let first = *by_ids.entry(request.input_ids.as_slice()).or_insert(index);
        if requests[first].options == request.options { first } else { index }
    };
    requests.iter().enumerate().map(first).collect()
}
