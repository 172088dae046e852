//! Results for JavaScript, with the names and shapes of `web/ts/train-types.ts`.

use js_sys::{Array, Float32Array, JSON, Object, Reflect};
use serde::Serialize;
use wasm_bindgen::prelude::*;
use wordloom::train::LessonOptions;
use wordloom::transformer::{ForwardOutput, Tensor};

use crate::failure::Failure;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Info<'a> {
    pub device: DeviceInfo,
    pub options: &'a LessonOptions,
    pub parameters: u64,
    pub symbols: usize,
    pub longest: usize,
    pub holds_out: bool,
    pub step: u64,
}

#[derive(Serialize)]
pub struct DeviceInfo {
    pub kind: &'static str,
    pub name: String,
    pub software: bool,
    pub notice: String,
}

/// Means over the labels since the last result.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Steps {
    pub step: u64,
    pub loss: f64,
    pub accuracy: f64,
    pub tokens: f64,
    pub learning_rate: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    pub step: u64,
    pub loss: f64,
    pub accuracy: f64,
    pub right: usize,
    pub count: usize,
    pub samples: Vec<Sample>,
}

#[derive(Serialize)]
pub struct Sample {
    pub source: String,
    pub expected: String,
    pub got: String,
}

/// A plain value as a JavaScript object.
pub fn to_js(value: &impl Serialize) -> Result<JsValue, Failure> {
    let text = serde_json::to_string(value).map_err(|error| Failure::input(error.to_string()))?;
    // valid JSON: it has just been written
    JSON::parse(&text).map_err(|_| Failure::input("a result is no JSON"))
}

/// `{ [name]: value, … }`
pub fn js_object<'a>(entries: impl IntoIterator<Item = (&'a str, JsValue)>) -> JsValue {
    let object = Object::new();
    for (name, value) in entries {
        // a plain object accepts every property
        let _ = Reflect::set(&object, &name.into(), &value);
    }
    object.into()
}

/// The attention of all layers and heads of one pair, with its tokens.
pub fn attention(output: &ForwardOutput, source: Vec<String>, target: Vec<String>) -> JsValue {
    let texts = |texts: Vec<String>| texts.into_iter().map(JsValue::from).collect::<Array>().into();
    let layers = |layers: &[Tensor]| layers.iter().map(tensor).collect::<Array>().into();
    js_object([
        ("source", texts(source)),
        ("target", texts(target)),
        ("encoder", layers(&output.encoder_attentions)),
        ("decoder", layers(&output.decoder_attentions)),
        ("cross", layers(&output.cross_attentions)),
    ])
}

/// `[heads, queries, keys]`: the batch is one sentence.
fn tensor(Tensor { shape, data }: &Tensor) -> JsValue {
    let shape = shape.iter().skip(1).map(|&size| JsValue::from(size as f64)).collect::<Array>();
    js_object([("shape", shape.into()), ("weights", Float32Array::from(&data[..]).into())])
}
