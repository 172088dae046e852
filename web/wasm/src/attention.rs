//! The weights of one attention, for a picture.

use serde::Deserialize;
use serde_json::Value;
use wasm_bindgen::prelude::*;
use wordloom::model::config::Architecture;
use wordloom::model::{AttentionKind, LayerAttention};
use wordloom::transformer::{ForwardInput, ForwardSelection, Transformer};

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
                // a module has 32 bits: a larger number is no layer of any model
                Ok(Self::Index(number.as_u64().and_then(|index| index.try_into().ok()).unwrap_or(usize::MAX)))
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
        let selected = match self.kind {
            Kind::Encoder => &mut selection.encoder_attentions,
            Kind::Decoder => &mut selection.decoder_attentions,
            Kind::Cross => &mut selection.cross_attentions,
        };
        selected.clone_from(&layers);
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
            global_attention_mask: config.usual_global_mask(source.len()),
        };
        let kept = transformer.forward_attention(&input, selection)?;
        let mut maps = Vec::with_capacity(layers.len());
        for layer in layers {
            // windows become matrices
            maps.extend(kept.read_layer(kind, layer).await?.map(LayerAttention::whole));
        }
        Ok(mean(&maps, &heads))
    }
}

/// The mean over some heads of layers, `[queries, keys]`. Only some layers may have columns beyond the keys, for sums.
fn mean(maps: &[LayerAttention], heads: &[usize]) -> ([usize; 2], Vec<f32>) {
    let queries = maps.first().map_or(0, |map| map.queries);
    let columns = maps.iter().map(|map| map.keys).max().unwrap_or(0);
    let mut sum = vec![0.0; queries * columns];
    for map in maps {
        for &head in heads {
            for (sums, row) in sum.chunks_exact_mut(columns).zip(map.head(head).rows()) {
                sums.iter_mut().zip(row).for_each(|(sum, weight)| *sum += weight);
            }
        }
    }
    let count = (maps.len() * heads.len()).max(1) as f32;
    sum.iter_mut().for_each(|sum| *sum /= count);
    ([queries, columns], sum)
}
