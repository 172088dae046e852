//! Many texts: each sentence is searched once, in batches of whatever texts they are from, and the texts come out in
//! the order they went in.

use std::collections::HashMap;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::{Batch, Piece, TranslateError, TranslateOptions, Translation, Translator, put_together};
use crate::decode::Hypothesis;
use crate::text::TextError;
use crate::transformer::{GenerateRequest, Progress};

/// What [`Translator::translate_in_turn`] tells after every batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Ready {
    /// The translations of the next texts, as far as all before them are done, too; often none.
    pub translations: Vec<Translation>,
    /// Sentences done so far, of these texts and of later ones.
    pub sentences: usize,
    /// Sentences of all texts.
    pub of_sentences: usize,
    /// How much of the work is done, 0 to 1, counted in source tokens.
    pub fraction: f32,
}

impl Translator {
    /// Translates several texts; their sentences share batches. `progress` is told how many sentences are done, and
    /// of how many.
    ///
    /// # Errors
    /// [`TranslateError`]
    pub async fn translate_all(
        &self,
        texts: &[&str],
        options: &TranslateOptions,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Vec<Translation>, TranslateError> {
        let mut translations = Vec::with_capacity(texts.len());
        let mut collect = |ready: Ready| {
            progress(ready.sentences, ready.of_sentences);
            translations.extend(ready.translations);
        };
        self.translate_in_turn(texts, options, &mut collect).await?;
        Ok(translations)
    }

    /// Translates several texts, and hands them to `ready` in their order as soon as they and all before them are done:
    /// once at the beginning, for what needs no search, and after every batch. A sentence that comes again is not
    /// searched again; see also [`with_cache`](Self::with_cache).
    ///
    /// # Errors
    /// [`TranslateError`]
    pub async fn translate_in_turn(
        &self,
        texts: &[&str],
        options: &TranslateOptions,
        ready: &mut dyn FnMut(Ready),
    ) -> Result<(), TranslateError> {
        let mut batch = Batch::default();
        let mut layouts = Vec::with_capacity(texts.len());
        for text in texts {
            layouts.push(self.take_apart(text, options, &mut batch)?);
        }
        let mut turns = Turns::new(self, &layouts, batch);
        let searched = turns.recall();
        let requests: Vec<GenerateRequest> =
            searched.iter().map(|&first| turns.requests[first].clone()).collect();
        let mut result = turns.ready().map(&mut *ready);
        let mut watch = |progress: Progress<'_>| {
            let Progress::Finished { requests, hypotheses } = progress else { return };
            for (&request, hypotheses) in requests.iter().zip(hypotheses) {
                turns.found(searched[request], hypotheses);
            }
            if result.is_ok() {
                result = turns.ready().map(&mut *ready);
            }
        };
        self.transformer.generate_watched(&requests, &options.cancel, &mut watch).await?;
        Ok(result?)
    }

    /// How many sentences so far were not searched, because an equal one had been.
    pub fn reused_sentences(&self) -> u64 {
        self.reused.load(Ordering::Relaxed)
    }
}

/// Texts that wait for their sentences.
struct Turns<'a> {
    translator: &'a Translator,
    /// Of the texts that have not been handed out.
    layouts: std::slice::Iter<'a, Vec<Piece<'a>>>,
    sources: Vec<String>,
    requests: Vec<GenerateRequest>,
    /// For each request, the first that is equal.
    firsts: Vec<usize>,
    /// Of the first of equal requests.
    results: Vec<Option<Vec<Hypothesis>>>,
    /// Sentences and source tokens that have results.
    done: Amount,
    all: Amount,
    /// For the first of equal requests, what all of them are.
    amounts: Vec<Amount>,
    /// All sentences before this one have results.
    complete: usize,
    /// The first sentence of the next text.
    next: usize,
}

#[derive(Clone, Copy, Default)]
struct Amount {
    sentences: usize,
    tokens: usize,
}

impl Amount {
    fn add(&mut self, other: Self) {
        self.sentences += other.sentences;
        self.tokens += other.tokens;
    }
}

impl<'a> Turns<'a> {
    fn new(translator: &'a Translator, layouts: &'a [Vec<Piece<'a>>], batch: Batch) -> Self {
        let Batch { sources, requests } = batch;
        let firsts = first_of_equals(&requests);
        let (mut amounts, mut all) = (vec![Amount::default(); requests.len()], Amount::default());
        for (request, &first) in requests.iter().zip(&firsts) {
            let amount = Amount { sentences: 1, tokens: request.input_ids.len() };
            amounts[first].add(amount);
            all.add(amount);
        }
        Self {
            translator,
            layouts: layouts.iter(),
            sources,
            results: vec![None; requests.len()],
            requests,
            firsts,
            done: Amount::default(),
            all,
            amounts,
            complete: 0,
            next: 0,
        }
    }

    /// Takes what the cache has, and gives the requests that have to be searched: one of those that are equal.
    fn recall(&mut self) -> Vec<usize> {
        let mut cache = self.translator.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let mut searched = Vec::new();
        for index in (0..self.requests.len()).filter(|&index| self.firsts[index] == index) {
            self.results[index] = cache.get(&self.requests[index]);
            match &self.results[index] {
                Some(_) => self.done.add(self.amounts[index]),
                None => searched.push(index),
            }
        }
        let reused = (self.requests.len() - searched.len()) as u64;
        self.translator.reused.fetch_add(reused, Ordering::Relaxed);
        searched
    }

    fn found(&mut self, first: usize, hypotheses: &[Hypothesis]) {
        let mut cache = self.translator.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.put(&self.requests[first], hypotheses);
        self.results[first] = Some(hypotheses.to_vec());
        self.done.add(self.amounts[first]);
    }

    /// The texts that are complete now.
    fn ready(&mut self) -> Result<Ready, TextError> {
        while self.firsts.get(self.complete).is_some_and(|&first| self.results[first].is_some()) {
            self.complete += 1;
        }
        let mut translations = Vec::new();
        while let Some(layout) = self.layouts.as_slice().first() {
            let count = layout.iter().filter(|piece| matches!(piece, Piece::Sentence)).count();
            if self.next + count > self.complete {
                break;
            }
            let sentences = (self.next..self.next + count)
                .map(|index| {
                    let source = std::mem::take(&mut self.sources[index]);
                    let hypotheses = self.results[self.firsts[index]].clone().unwrap_or_default();
                    self.translator.sentence(source, &self.requests[index], hypotheses)
                })
                .collect::<Result<Vec<_>, _>>()?;
            translations.push(put_together(layout, sentences));
            self.next += count;
            self.layouts.next();
        }
        Ok(Ready {
            translations,
            sentences: self.done.sentences,
            of_sentences: self.all.sentences,
            fraction: match self.all.tokens {
                0 => 1.0,
                tokens => (self.done.tokens as f64 / tokens as f64) as f32,
            },
        })
    }
}

/// For each request the first one that is equal to it, maybe itself.
fn first_of_equals<'a>(requests: &'a [GenerateRequest]) -> Vec<usize> {
    let mut by_ids = HashMap::with_capacity(requests.len());
    let first = |(index, request): (usize, &'a GenerateRequest)| {
        let first = *by_ids.entry(request.input_ids.as_slice()).or_insert(index);
        if requests[first].options == request.options { first } else { index }
    };
    requests.iter().enumerate().map(first).collect()
}
