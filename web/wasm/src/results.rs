//! Results for JavaScript, with the names and shapes of `web/ts/types.ts`.

use std::borrow::Cow;

use js_sys::{Array, Float32Array, JSON, Object, Reflect};
use serde::Serialize;
use wasm_bindgen::prelude::*;
use wordloom::decode::Hypothesis;
use wordloom::text::Tokenizer;
use wordloom::transformer::{ForwardOutput, Tensor};
use wordloom::translate::Quality;
use wordloom::{Translation, Translator};

use crate::failure::Failure;

/// A plain value as a JavaScript object.
pub fn to_js(value: &impl Serialize) -> Result<JsValue, Failure> {
    let text = serde_json::to_string(value).map_err(|error| Failure::input(error.to_string()))?;
    JSON::parse(&text).map_err(Failure::Js)
}

#[derive(PartialEq, Serialize)]
pub struct Partial {
    pub stable: String,
    pub provisional: String,
    /// Finished part of the encoder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<f32>,
}

#[derive(Serialize)]
pub struct Tokenized {
    pub ids: Vec<u32>,
    pub tokens: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    pub device_bytes: u64,
    pub buffers_created: u64,
    pub wasm_bytes: f64,
}

#[derive(Serialize)]
struct WholeText<'a> {
    text: &'a str,
    hypotheses: Vec<TextHypothesis<'a>>,
    sentences: Vec<Sentence<'a>>,
    #[serde(rename = "leftOut", skip_serializing_if = "Option::is_none")]
    left_out: Option<usize>,
    stats: Stats,
}

#[derive(Serialize)]
struct TextHypothesis<'a> {
    text: &'a str,
    score: f32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sentence<'a> {
    source: &'a str,
    source_tokens: Vec<Token<'a>>,
    hypotheses: Vec<SentenceHypothesis<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alignment: Option<&'a [(usize, usize)]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quality: Option<SentenceQuality>,
}

/// [`Quality`] with JavaScript's names.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SentenceQuality {
    trust: f32,
    low: bool,
    log_probability: f32,
    coverage: Option<f32>,
    copies: bool,
    repeats: bool,
    cut: bool,
}

impl From<Quality> for SentenceQuality {
    fn from(quality: Quality) -> Self {
        let Quality { trust, log_probability, coverage, copies, repeats, cut } = quality;
        Self { trust, low: quality.is_low(), log_probability, coverage, copies, repeats, cut }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SentenceHypothesis<'a> {
    text: &'a str,
    score: f32,
    tokens: Vec<Token<'a>>,
    reached_max_length: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Token<'a> {
    id: u32,
    piece: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    log_probability: Option<f32>,
}

impl<'a> SentenceHypothesis<'a> {
    pub fn of(hypothesis: &'a wordloom::translate::SentenceHypothesis, tokenizer: &'a Tokenizer) -> Self {
        let Hypothesis { tokens, score, step_logprobs } = &hypothesis.search;
        // the prompt's tokens have no probability
        let given = tokens.len().saturating_sub(step_logprobs.len());
        let scores = std::iter::repeat_n(None, given).chain(step_logprobs.iter().copied().map(Some));
        let target = |(&id, log_probability): (&u32, Option<f32>)| Token {
            id,
            piece: tokenizer.target_token(id).unwrap_or_default(),
            log_probability,
        };
        Self {
            text: &hypothesis.text,
            score: *score,
            tokens: tokens.iter().zip(scores).map(target).collect(),
            reached_max_length: hypothesis.reached_max_length,
        }
    }
}

#[derive(Serialize)]
struct Stats {
    milliseconds: f64,
    /// Number of tokens of the best hypotheses.
    tokens: usize,
    sentences: usize,
}

pub fn translation(
    translator: &Translator,
    translation: &Translation,
    is_document: bool,
    milliseconds: f64,
) -> Result<JsValue, Failure> {
    let tokenizer = translator.tokenizer();
    let source = |&id: &u32| Token {
        id,
        piece: tokenizer.source_token(id).unwrap_or_default(),
        log_probability: None,
    };
    let sentences: Vec<Sentence> = translation
        .sentences
        .iter()
        .map(|sentence| Sentence {
            source: &sentence.source,
            source_tokens: sentence.source_ids.iter().map(source).collect(),
            hypotheses: sentence
                .hypotheses
                .iter()
                .map(|hypothesis| SentenceHypothesis::of(hypothesis, tokenizer))
                .collect(),
            alignment: sentence.alignment.as_ref().map(|alignment| &*alignment.words.links),
            quality: Quality::of(sentence).map(SentenceQuality::from),
        })
        .collect();
    let best = translation.sentences.iter().filter_map(|sentence| sentence.hypotheses.first());
    let tokens = best.map(|hypothesis| hypothesis.search.step_logprobs.len()).sum();
    to_js(&WholeText {
        text: &translation.text,
        hypotheses: translation
            .hypotheses
            .iter()
            .map(|hypothesis| TextHypothesis { text: &hypothesis.text, score: hypothesis.score })
            .collect(),
        left_out: is_document
            .then(|| translation.sentences.iter().map(|document| document.left_out_tokens).sum()),
        stats: Stats { milliseconds, tokens, sentences: sentences.len() },
        sentences,
    })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Generated {
    sequences: Vec<Vec<u32>>,
    scores: Vec<f32>,
    step_log_probabilities: Vec<Vec<f32>>,
}

impl From<Vec<Hypothesis>> for Generated {
    fn from(hypotheses: Vec<Hypothesis>) -> Self {
        Self {
            scores: hypotheses.iter().map(|hypothesis| hypothesis.score).collect(),
            step_log_probabilities: hypotheses.iter().map(|h| h.step_logprobs.clone()).collect(),
            sequences: hypotheses.into_iter().map(|hypothesis| hypothesis.tokens).collect(),
        }
    }
}

/// `{ [name]: value, … }`
pub fn js_object<const N: usize>(entries: [(&str, JsValue); N]) -> JsValue {
    let object = Object::new();
    for (name, value) in entries {
        // a plain object accepts every property
        let _ = Reflect::set(&object, &name.into(), &value);
    }
    object.into()
}

pub fn shape(sizes: &[usize]) -> JsValue {
    sizes.iter().map(|&size| JsValue::from(size as f64)).collect::<Array>().into()
}

fn tensor(tensor: &Tensor) -> JsValue {
    js_object([("shape", shape(&tensor.shape)), ("data", Float32Array::from(&tensor.data[..]).into())])
}

pub fn forward(output: &ForwardOutput) -> JsValue {
    let tensors = |tensors: &[Tensor]| tensors.iter().map(tensor).collect::<Array>().into();
    js_object([
        ("encoderLastHiddenState", tensor(&output.encoder_last_hidden_state)),
        ("logits", tensor(&output.logits)),
        ("encoderHiddenStates", tensors(&output.encoder_hidden_states)),
        ("decoderHiddenStates", tensors(&output.decoder_hidden_states)),
        ("encoderAttentions", tensors(&output.encoder_attentions)),
        ("decoderAttentions", tensors(&output.decoder_attentions)),
        ("crossAttentions", tensors(&output.cross_attentions)),
    ])
}
