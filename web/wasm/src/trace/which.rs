//! Which map of a trace is meant.

use wasm_bindgen::JsValue;
use wordloom::trace::{AttentionKind, LayerAttention, TracedSentence};

use crate::failure::Failure;
use crate::options::{object, take};

/// One layer or head, their mean, or (for a picture) all of them side by side.
#[derive(Clone, Copy, PartialEq)]
pub enum Pick {
    Index(usize),
    Mean,
    All,
}

#[derive(Clone, Copy, PartialEq)]
pub struct Which {
    pub sentence: usize,
    pub kind: AttentionKind,
    pub layer: Pick,
    pub head: Pick,
}

impl Which {
    pub fn new(value: &JsValue) -> Result<Self, Failure> {
        let mut value = object(value)?;
        let mut pick = |name: &str| match value.remove(name).unwrap_or_default() {
            serde_json::Value::String(word) if word == "mean" => Ok(Pick::Mean),
            serde_json::Value::String(word) if word == "all" => Ok(Pick::All),
            serde_json::Value::Number(number) if number.is_u64() => {
                Ok(Pick::Index(number.as_u64().unwrap_or(0) as usize))
            }
            other => Err(Failure::input(format!(
                "{name:?} is {other}; expected a number, counted from 0, \"mean\" or, for a picture, \"all\""
            ))),
        };
        let (layer, head) = (pick("layer")?, pick("head")?);
        Ok(Self {
            sentence: take(&mut value, "sentence", "a number, counted from 0")?,
            kind: take(&mut value, "kind", "\"encoder\", \"decoder\" or \"cross\"")?,
            layer,
            head,
        })
    }

    /// Whether all heads are meant, side by side.
    pub fn is_grid(self) -> bool {
        self.layer == Pick::All && self.head == Pick::All
    }

    /// The kept layers that are meant.
    fn layers(self, sentence: &TracedSentence) -> Result<Vec<&LayerAttention>, Failure> {
        let Self { kind, layer, .. } = self;
        let layers: Vec<&LayerAttention> = match layer {
            Pick::Index(index) => sentence.layer(kind, index).into_iter().collect(),
            Pick::Mean => sentence.layers(kind).collect(),
            Pick::All => return Err(Failure::input("\"all\" is for pictures of all heads")),
        };
        let which = if let Pick::Index(index) = layer { format!(" of layer {index}") } else { String::new() };
        match layers.is_empty() {
            true => Err(Failure::input(format!("the trace has no {kind} attention{which}"))),
            false => Ok(layers),
        }
    }

    /// A layer as the trace has it.
    pub fn layer(self, sentence: &TracedSentence) -> Result<&LayerAttention, Failure> {
        match self.layer {
            Pick::Index(_) => self.layers(sentence).map(|layers| layers[0]),
            Pick::Mean | Pick::All => {
                Err(Failure::input("\"layer\" has to be a number: of one head, not of a mean"))
            }
        }
    }

    /// The map that is meant, as a layer of one head.
    pub fn derive(self, sentence: &TracedSentence) -> Result<LayerAttention, Failure> {
        let layers = self.layers(sentence)?;
        let mut weights: Vec<f32> = Vec::new();
        for layer in &layers {
            let own = match self.head {
                Pick::Index(head) if head < layer.heads => layer.head(head).weights.to_vec(),
                Pick::Index(head) => {
                    let heads = layer.heads;
                    return Err(Failure::input(format!(
                        "there is no head {head}; there are {heads}, from 0"
                    )));
                }
                Pick::Mean => layer.mean(),
                Pick::All => return Err(Failure::input("\"all\" is for pictures of all heads")),
            };
            match weights.is_empty() {
                true => weights = own,
                false => weights.iter_mut().zip(own).for_each(|(sum, weight)| *sum += weight),
            }
        }
        let count = layers.len() as f32;
        weights.iter_mut().for_each(|sum| *sum /= count);
        let LayerAttention { kind, layer, queries, keys, .. } = *layers[0];
        Ok(LayerAttention { kind, layer, heads: 1, queries, keys, weights })
    }
}
