//! The weights of one attention, for a picture.

use serde::Deserialize;
use serde_json::Value;
use wasm_bindgen::prelude::*;
use wordloom::model::AttentionKind;
use wordloom::model::config::Architecture;
use wordloom::transformer::{ForwardInput, ForwardOutput, ForwardSelection, Tensor, Transformer};

use crate::failure::Failure;
use crate::options::{object, take};

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Encoder,
    Decoder,
    Cross,
}

/// One of several layers or heads, or their mean.
#[derive(Clone, Copy)]
enum Which {
    Index(usize),
    Mean,
}

impl Which {
    fn new(name: &str, value: Option<Value>) -> Result<Self, Failure> {
        match value.unwrap_or(Value::Null) {
            Value::Null => Ok(Self::Mean),
            Value::String(mean) if mean == "mean" => Ok(Self::Mean),
            Value::Number(number) if number.is_u64() => {
                Ok(Self::Index(number.as_u64().unwrap_or(0) as usize))
            }
            other => Err(Failure::input(format!(
                "{name:?} is {other}; expected a number, counted from 0, or \"mean\""
            ))),
        }
    }

    /// The chosen indices of `count`.
    fn of(self, name: &str, count: usize) -> Result<Vec<usize>, Failure> {
        match self {
            Self::Mean => Ok((0..count).collect()),
            Self::Index(index) if index < count => Ok(vec![index]),
            Self::Index(index) => {
                Err(Failure::input(format!("there is no {name} {index}; there are {count}, counted from 0")))
            }
        }
    }
}

/// The chosen attention.
pub struct Input {
    kind: Kind,
    source_ids: Vec<u32>,
    target_ids: Vec<u32>,
    layer: Which,
    head: Which,
}

impl Input {
    pub fn new(input: &JsValue) -> Result<Self, Failure> {
        let mut input = object(input)?;
        Ok(Self {
            kind: take(&mut input, "kind", "\"encoder\", \"decoder\" or \"cross\"")?,
            source_ids: take(&mut input, "sourceIds", "a list of token ids")?,
            target_ids: take(&mut input, "targetIds", "a list of token ids")?,
            layer: Which::new("layer", input.remove("layer"))?,
            head: Which::new("head", input.remove("head"))?,
        })
    }

    /// `([queries, keys], weights)`
    pub async fn run(&self, transformer: &Transformer) -> Result<([usize; 2], Vec<f32>), Failure> {
        let config = transformer.config();
        let lacking = match (config.architecture(), self.kind) {
            (Architecture::EncoderDecoder, _)
            | (Architecture::EncoderOnly, Kind::Encoder)
            | (Architecture::DecoderOnly, Kind::Decoder) => None,
            (Architecture::EncoderOnly, _) => Some("encoder"),
            (Architecture::DecoderOnly, _) => Some("decoder"),
        };
        if let Some(only) = lacking {
            let family = config.family.model_type();
            return Err(Failure::input(format!("\"kind\": a {family:?} model has only {only} attention")));
        }
        let (stack, kind) = match self.kind {
            Kind::Encoder => (config.encoder, AttentionKind::Encoder),
            Kind::Decoder => (config.decoder, AttentionKind::Decoder),
            Kind::Cross => (config.decoder, AttentionKind::Cross),
        };
        let layers = config.attention_layers(kind);
        if self.kind == Kind::Decoder && layers == 0 {
            let family = config.family.model_type();
            let message = format!(
                "\"kind\": the decoder of this {family:?} model is recurrent: it has no {kind} attention"
            );
            return Err(Failure::input(message));
        }
        let layers = self.layer.of("layer", layers)?;
        let heads = self.head.of("head", stack.heads)?;
        let mut selection = ForwardSelection::default();
        match self.kind {
            Kind::Encoder => selection.encoder_attentions = layers,
            Kind::Decoder => selection.decoder_attentions = layers,
            Kind::Cross => selection.cross_attentions = layers,
        }
        // a model without encoder or decoder has one text, on the side that exists
        let (source, target) = match config.architecture() {
            Architecture::DecoderOnly => (&self.target_ids, &self.source_ids),
            _ => (&self.source_ids, &self.target_ids),
        };
        let input = ForwardInput {
            batch: 1,
            source_length: source.len(),
            target_length: target.len(),
            input_ids: source.clone(),
            attention_mask: vec![1; source.len()],
            token_type_ids: Vec::new(),
            decoder_input_ids: target.clone(),
            global_attention_mask: Vec::new(),
        };
        let output = transformer.forward_selected(&input, &selection).await?;
        let ForwardOutput { encoder_attentions, decoder_attentions, cross_attentions, .. } = output;
        let tensors = match self.kind {
            Kind::Encoder => encoder_attentions,
            Kind::Decoder => decoder_attentions,
            Kind::Cross => cross_attentions,
        };
        Ok(mean(&tensors, &heads))
    }
}

/// The mean over tensors `[1, heads, queries, keys]` and some of their heads.
fn mean(tensors: &[Tensor], heads: &[usize]) -> ([usize; 2], Vec<f32>) {
    let (queries, keys) = tensors.first().map_or((0, 0), |tensor| (tensor.shape[2], tensor.shape[3]));
    let mut sum = vec![0.0; queries * keys];
    for tensor in tensors {
        for &head in heads {
            let weights = &tensor.data[head * queries * keys..][..queries * keys];
            sum.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += weight);
        }
    }
    let count = (tensors.len() * heads.len()).max(1) as f32;
    sum.iter_mut().for_each(|sum| *sum /= count);
    ([queries, keys], sum)
}
