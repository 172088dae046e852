//! Texts whose sentences a caller searches itself, such as a server that batches the sentences of many clients.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::error::TranslateError;
use super::layout::{Segment, Sentences, Source, put_together};
use super::options::TranslateOptions;
use super::translation::{Sentence, Translation};
use super::translator::Translator;
use crate::decode::Hypothesis;
use crate::text::TextError;
use crate::transformer::{GenerateRequest, Generation};

/// Texts cut into sentences; see [`Translator::take_texts_apart`].
pub struct Parts<'a> {
    layouts: Vec<Vec<Segment<'a>>>,
    sources: Vec<Source>,
    requests: Vec<GenerateRequest>,
}

impl Parts<'_> {
    /// The request of each sentence, in order.
    pub fn requests(&self) -> &[GenerateRequest] {
        &self.requests
    }
}

impl Translator {
    /// Cuts texts into sentences, and makes a request of each, as [`translate`](Self::translate) does. The caller searches, for
    /// instance with [`Transformer::serve`](crate::Transformer::serve), and passes the results to
    /// [`put_texts_together`](Self::put_texts_together). [`TranslateOptions::keep`] and
    /// [`alignments`](TranslateOptions::alignments) have no effect.
    ///
    /// # Errors
    /// [`TranslateError`] for a text that has no tokens, languages or options that do not fit the model.
    pub fn take_texts_apart<'a>(
        &self,
        texts: &[&'a str],
        options: &TranslateOptions,
    ) -> Result<Parts<'a>, TranslateError> {
        let mut sentences = Sentences::default();
        let layouts = texts.iter().map(|text| self.take_apart(text, options, &mut sentences));
        let layouts = layouts.collect::<Result<Vec<_>, _>>()?;
        let Sentences { sources, requests } = sentences;
        let requests = requests.into_iter().map(|request| self.transformer.prepare(request));
        Ok(Parts { layouts, sources, requests: requests.collect::<Result<_, _>>()? })
    }

    /// Puts the translations of all texts together. `results` are the hypotheses of each request, best first.
    ///
    /// # Errors
    /// [`TextError`] if tokens cannot be decoded.
    ///
    /// # Panics
    /// If there is not one result, with a hypothesis, for each request.
    pub fn put_texts_together(
        &self,
        parts: Parts<'_>,
        results: Vec<Vec<Hypothesis>>,
    ) -> Result<Vec<Translation>, TextError> {
        assert_eq!(results.len(), parts.requests.len(), "one result for each request");
        let sentences = parts.sources.into_iter().zip(&parts.requests).zip(results);
        let mut sentences = sentences.map(|((Source { text, left_out_tokens }, request), hypotheses)| {
            let found = Generation { hypotheses, ..Generation::default() };
            Ok(Sentence { left_out_tokens, ..self.sentence(text, request, found)? })
        });
        let translated = parts.layouts.iter().map(|layout| {
            let count = layout.iter().filter(|segment| matches!(segment, Segment::Sentence)).count();
            let own = sentences.by_ref().take(count).collect::<Result<Vec<Sentence>, TextError>>()?;
            Ok(put_together(layout, own))
        });
        translated.collect()
    }

    /// The result of an equal request, if the cache has it; see [`with_cache`](Self::with_cache).
    pub fn recall(&self, request: &GenerateRequest) -> Option<Vec<Hypothesis>> {
        let found = self.cache.lock().unwrap_or_else(PoisonError::into_inner).get(request);
        self.reused.fetch_add(u64::from(found.is_some()), Ordering::Relaxed);
        found
    }

    /// Puts a result into the cache.
    pub fn remember(&self, request: &GenerateRequest, hypotheses: &[Hypothesis]) {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner).put(request, hypotheses);
    }
}
