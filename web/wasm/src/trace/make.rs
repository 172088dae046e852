//! Makes the trace of a translated sentence that JavaScript stored.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use serde::Deserialize;
use wasm_bindgen::JsValue;
use wordloom::decode::Hypothesis;
use wordloom::heatmap::Painter;
use wordloom::trace::{self as traces, AttentionKind, KeptAttention, TraceOptions};
use wordloom::transformer::{Cancel, KeepAttention};
use wordloom::translate::{Sentence, SentenceHypothesis};
use wordloom::{TranslateOptions, Translation, Translator};

use super::{Remembered, Trace};
use crate::failure::Failure;
use crate::loading::settle;
use crate::options::{object, take};

/// A sentence, and the chosen hypothesis.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pair {
    source: String,
    source_ids: Vec<u32>,
    target: String,
    target_ids: Vec<u32>,
}

/// The sentences and options of a trace.
#[derive(Clone)]
pub struct Input {
    sentences: Vec<Pair>,
    translate: TranslateOptions,
    trace: TraceOptions,
}

impl Input {
    /// `label` is the model's default name.
    pub fn new(input: &JsValue, label: &str) -> Result<Self, Failure> {
        let mut input = object(input)?;
        let model: Option<String> = take(&mut input, "model", "a name")?;
        let defaults = TraceOptions::default();
        let kinds: Option<Vec<AttentionKind>> =
            take(&mut input, "kinds", "a list of \"encoder\", \"decoder\" and \"cross\"")?;
        let memory: Option<u64> = take(&mut input, "memory", "a number of bytes")?;
        let taps: Option<Vec<String>> = take(&mut input, "taps", "a list of names of taps")?;
        let alternatives: Option<usize> = take(&mut input, "alternatives", "a number of tokens")?;
        let mut language = |name| take(&mut input, name, "a language code");
        let (source_language, target_language) = (language("sourceLanguage")?, language("targetLanguage")?);
        let alternatives = alternatives.unwrap_or(0);
        Ok(Self {
            sentences: take(&mut input, "sentences", "a list of translated sentences")?,
            translate: TranslateOptions { source_language, target_language, ..TranslateOptions::default() },
            trace: TraceOptions {
                model: model.unwrap_or_else(|| label.to_owned()),
                kinds: kinds.unwrap_or(defaults.kinds),
                memory: memory.unwrap_or(defaults.memory),
                scores: alternatives > 0,
                alternatives,
                search: false,
                depth: false,
                taps: taps.unwrap_or_default(),
            },
        })
    }

    /// The stored attention of all sentences; `None` if any is missing.
    fn remembered(&self, all: &[Remembered]) -> Option<Vec<KeptAttention>> {
        let default = KeepAttention::default();
        if self.trace.scores || !self.trace.taps.is_empty() || self.trace.keep_attention() != default {
            return None;
        }
        let of_pair = |pair: &Pair| {
            let found = all.iter().find(|one| one.is_of(&pair.source_ids, &pair.target_ids))?;
            Some(found.attention()).filter(|attention| attention.left_out().is_empty())
        };
        self.sentences.iter().map(|pair| of_pair(pair).cloned()).collect()
    }

    /// A trace of stored attention, if all of it is stored. It never waits for the device.
    pub fn kept(&self, translator: &Translator, all: &[Remembered]) -> Result<Option<Trace>, Failure> {
        let Some(attention) = self.remembered(all) else { return Ok(None) };
        let device = translator.transformer().device();
        // other errors belong to the running calls
        if device.gpu().is_some_and(|gpu| gpu.is_lost()) {
            return Ok(None);
        }
        let (text, mut translation) = translation(&self.sentences);
        for (sentence, attention) in translation.sentences.iter_mut().zip(&attention) {
            sentence.attention = Some(attention.clone());
        }
        let trace = traces::Trace::of_search(translator, &text, &translation, &self.translate, &self.trace)?;
        if device.gpu().is_some() {
            return Ok(Some(Trace::on_device(trace, attention, Painter::new(&device))));
        }
        // on the host, the future never waits
        let read = pin!(trace.with_weights(&attention)).poll(&mut Context::from_waker(Waker::noop()));
        match read {
            Poll::Ready(trace) => Ok(Some(Trace::on_host(trace?))),
            Poll::Pending => Ok(None),
        }
    }

    pub async fn run(&self, translator: &Translator, cancel: Cancel) -> Result<Trace, Failure> {
        let (text, translation) = translation(&self.sentences);
        let options = TranslateOptions { cancel, ..self.translate.clone() };
        let device = translator.transformer().device();
        // the host computes alternatives, and gets the attention in the same pass
        if device.gpu().is_none() || self.trace.scores {
            let trace = traces::Trace::of(translator, &text, &translation, &options, &self.trace).await?;
            return Ok(Trace::on_host(trace));
        }
        let (trace, attention) =
            traces::Trace::on_device(translator, &text, &translation, &options, &self.trace).await?;
        settle(&device).await?; // a lost device is replaced here, not in later readings
        Ok(Trace::on_device(trace, attention, Painter::new(&device)))
    }
}

/// The library's form of translated sentences, with its text.
pub fn translation(pairs: &[Pair]) -> (String, Translation) {
    let sources: Vec<&str> = pairs.iter().map(|pair| pair.source.as_str()).collect();
    let sentences = pairs.iter().cloned().map(|pair| Sentence {
        source: pair.source,
        source_ids: pair.source_ids,
        hypotheses: vec![SentenceHypothesis {
            text: pair.target,
            search: Hypothesis { tokens: pair.target_ids, score: 0.0, step_logprobs: Vec::new() },
            reached_max_length: false,
            prescribed: Vec::new(),
        }],
        ..Sentence::default()
    });
    let translation =
        Translation { text: String::new(), hypotheses: Vec::new(), sentences: sentences.collect() };
    (sources.join("\n"), translation)
}
