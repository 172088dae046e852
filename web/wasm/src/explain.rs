//! One attention, number by number.

use js_sys::{Array, Float32Array, Reflect};
use wasm_bindgen::prelude::*;
use wordloom::explain::{ExplainError, ExplainRequest, Explanation};
use wordloom::trace::{AttentionKind, HeadName, Trace};
use wordloom::transformer::Cancel;
use wordloom::{TranslateOptions, Translator};

use crate::codes;
use crate::failure::Failure;
use crate::options::{object, take, translation_options};
use crate::results::to_js;
use crate::trace::{self, Pair};

/// The attention to explain, in a text or in a translated sentence.
pub struct Input {
    text: String,
    target: Option<String>,
    sentence: Option<Pair>,
    token: String,
    kind: AttentionKind,
    /// The last if `None`.
    layer: Option<usize>,
    head: usize,
    options: TranslateOptions,
}

impl Input {
    pub fn new(input: &JsValue) -> Result<Self, Failure> {
        let mut input = object(input)?;
        let layer = take(&mut input, "layer", "a number, counted from 0")?;
        let sentence = take(&mut input, "sentence", "a translated sentence")?;
        Ok(Self {
            text: take(&mut input, "text", "a text")?,
            target: take(&mut input, "target", "a text")?,
            token: take(&mut input, "token", "a word, or a number counted from 0")?,
            kind: take(&mut input, "kind", "\"encoder\", \"decoder\" or \"cross\"")?,
            head: take(&mut input, "head", "a number, counted from 0")?,
            layer,
            sentence,
            options: translation_options(input, true)?,
        })
    }

    pub async fn run(&self, translator: &Translator, cancel: Cancel) -> Result<JsValue, Failure> {
        let options = TranslateOptions { cancel, ..self.options.clone() };
        let layers = translator.transformer().config().attention_layers(self.kind);
        let layer = self.layer.unwrap_or_else(|| layers.saturating_sub(1));
        let head = HeadName { kind: self.kind, layer, head: self.head };
        let explanation = match &self.sentence {
            Some(pair) => {
                let (text, translation) = trace::translation(std::slice::from_ref(pair));
                let token = &self.token;
                Explanation::of_translation(translator, &text, &translation, head, token, &options).await?
            }
            None => {
                let (text, target, token) = (self.text.clone(), self.target.clone(), self.token.clone());
                let request = ExplainRequest { text, target, head, token };
                Explanation::of(translator, &request, &options).await?
            }
        };
        with_arrays(explanation)
    }
}

/// The attention to explain by the taps of a trace.
pub struct TraceInput {
    sentence: usize,
    kind: AttentionKind,
    /// The last with taps if `None`.
    layer: Option<usize>,
    head: usize,
    /// Row of the attention map.
    query: usize,
}

impl TraceInput {
    pub fn new(input: &JsValue) -> Result<Self, Failure> {
        let mut input = object(input)?;
        let mut number = |name: &str| take(&mut input, name, "a number, counted from 0");
        let (sentence, head, query) = (number("sentence")?, number("head")?, number("query")?);
        let layer = take(&mut input, "layer", "a number, counted from 0")?;
        let kind = take(&mut input, "kind", "\"encoder\", \"decoder\" or \"cross\"")?;
        Ok(Self { sentence, kind, layer, head, query })
    }

    pub fn explain(&self, trace: &Trace) -> Result<JsValue, Failure> {
        let &Self { sentence, kind, layer, head, query } = self;
        let layer = layer.or_else(|| Explanation::last_layer(trace, kind)).unwrap_or_default();
        with_arrays(Explanation::of_trace(trace, sentence, HeadName { kind, layer, head }, query)?)
    }
}

/// The explanation with typed arrays for its numbers: JSON has no infinity.
fn with_arrays(mut explanation: Explanation) -> Result<JsValue, Failure> {
    let all = explanation.steps.iter_mut().flat_map(|step| &mut step.numbers);
    let mut values = all.map(|numbers| std::mem::take(&mut numbers.values)).collect::<Vec<_>>().into_iter();
    let result = to_js(&explanation)?;
    let list = |of: &JsValue, name: &str| Array::from(&Reflect::get(of, &name.into()).unwrap_or_default());
    for step in list(&result, "steps") {
        for numbers in list(&step, "numbers") {
            let array = Float32Array::from(&values.next().unwrap_or_default()[..]);
            // a plain object accepts every property
            let _ = Reflect::set(&numbers, &"values".into(), &array);
        }
    }
    Ok(result)
}

impl From<ExplainError> for Failure {
    fn from(error: ExplainError) -> Self {
        match error {
            ExplainError::Trace(error) => error.into(),
            ExplainError::Forward(error) => error.into(),
            error @ (ExplainError::NoAttention { .. } | ExplainError::Sparse { .. }) => {
                Self::unsupported(error.to_string())
            }
            error => {
                let code = codes::of_explain(&error);
                Self::of("input", error.to_string(), code)
            }
        }
    }
}
