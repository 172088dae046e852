//! Readers of keys that several families share, with limits.

use super::{EmbeddingSharing, SpecialTokens, StackConfig};
use crate::activation::Activation;
use crate::model::error::ModelError;
use crate::model::generation_config::TokenIds;
use crate::model::json::{JsonObject, JsonValue};
use serde_json::Value;

/// Limits of sizes. They detect mistakes, and prevent overflow of products.
pub mod limit {
    pub const D_MODEL: usize = 1 << 16;
    pub const LAYERS: usize = 1 << 10;
    pub const FFN_WIDTH: usize = 1 << 20;
    pub const VOCABULARY: usize = 1 << 24;
    /// Values of a position table, which may be computed without a file: 128 MiB.
    pub const POSITION_VALUES: usize = 1 << 25;
    pub const TOKEN_TYPES: usize = 1 << 10;
    /// Neighbours of a token on both sides together.
    pub const WINDOW: usize = 1 << 20;
}

/// Reads a size from 1 to `limit`, or `default`. Without a default, the key is required.
pub fn size(
    json: &JsonObject,
    key: &'static str,
    default: Option<usize>,
    limit: usize,
) -> Result<usize, ModelError> {
    let size = match default {
        Some(default) => json.get_or(key, default)?,
        None => json.require(key)?,
    };
    if !(1..=limit).contains(&size) {
        return Err(json.invalid(key, &size.into(), format!("a whole number from 1 to {limit}")));
    }
    Ok(size)
}

/// Checks a key with only one supported value.
pub fn only<T>(json: &JsonObject, key: &'static str, default: T, supported: T) -> Result<(), ModelError>
where
    T: JsonValue + PartialEq + Into<Value>,
{
    let value = json.get_or(key, default)?;
    if value == supported {
        return Ok(());
    }
    Err(json.unsupported(key, &value.into(), supported.into().to_string()))
}

/// The keys of an encoder or decoder, with the family's defaults, if any.
pub struct StackKeys {
    pub layers: (&'static str, Option<usize>),
    pub heads: (&'static str, Option<usize>),
    pub ffn_width: (&'static str, Option<usize>),
}

impl StackKeys {
    /// Reads an encoder or decoder whose heads divide `d_model`.
    pub fn read(self, json: &JsonObject, d_model: usize) -> Result<StackConfig, ModelError> {
        let heads = size(json, self.heads.0, self.heads.1, d_model)?;
        if !d_model.is_multiple_of(heads) {
            return Err(json.invalid(
                self.heads.0,
                &heads.into(),
                format!("a divisor of d_model, {d_model}"),
            ));
        }
        Ok(StackConfig {
            layers: size(json, self.layers.0, self.layers.1, limit::LAYERS)?,
            heads,
            d_k: d_model / heads,
            d_v: d_model / heads,
            ffn_width: size(json, self.ffn_width.0, self.ffn_width.1, limit::FFN_WIDTH)?,
        })
    }
}

/// Reads encoder and decoder by the keys of Marian, BART and its relatives, with their common defaults.
pub fn encoder_and_decoder(
    json: &JsonObject,
    d_model: usize,
) -> Result<(StackConfig, StackConfig), ModelError> {
    encoder_and_decoder_of(json, d_model, 12)
}

/// The same with another default for the layers of each.
pub fn encoder_and_decoder_of(
    json: &JsonObject,
    d_model: usize,
    layers: usize,
) -> Result<(StackConfig, StackConfig), ModelError> {
    let encoder = StackKeys {
        layers: ("encoder_layers", Some(layers)),
        heads: ("encoder_attention_heads", Some(16)),
        ffn_width: ("encoder_ffn_dim", Some(4096)),
    };
    let decoder = StackKeys {
        layers: ("decoder_layers", Some(layers)),
        heads: ("decoder_attention_heads", Some(16)),
        ffn_width: ("decoder_ffn_dim", Some(4096)),
    };
    Ok((encoder.read(json, d_model)?, decoder.read(json, d_model)?))
}

pub fn activation(json: &JsonObject, key: &'static str, default: &str) -> Result<Activation, ModelError> {
    let name: String = json.get_or(key, default.to_owned())?;
    activation_called(json, key, &name, &name)
}

/// The activation `name`, which is the key's value or a part of it.
pub fn activation_called(
    json: &JsonObject,
    key: &'static str,
    value: &str,
    name: &str,
) -> Result<Activation, ModelError> {
    Activation::from_hugging_face_name(name).ok_or_else(|| {
        let supported = Activation::HUGGING_FACE_NAMES.map(|(name, _)| name).join(", ");
        json.unsupported(key, &value.into(), supported)
    })
}

/// The length of a position table.
pub fn position_count(
    json: &JsonObject,
    key: &'static str,
    default: Option<usize>,
    d_model: usize,
) -> Result<usize, ModelError> {
    size(json, key, default, limit::POSITION_VALUES / d_model)
}

/// The number that norms add to the variance.
pub fn epsilon(json: &JsonObject, key: &'static str, default: f32) -> Result<f32, ModelError> {
    let epsilon = json.get_or(key, f64::from(default))?;
    match epsilon as f32 {
        rounded if rounded.is_finite() && rounded >= 0.0 => Ok(rounded),
        _ => Err(json.invalid(key, &epsilon.into(), "a small number, not negative")),
    }
}

/// Checks that a token id is in a vocabulary.
pub fn token(json: &JsonObject, key: &'static str, id: u32, vocabulary: usize) -> Result<u32, ModelError> {
    if id as usize >= vocabulary {
        return Err(json.invalid(
            key,
            &id.into(),
            format!("a token id below the vocabulary's size, {vocabulary}"),
        ));
    }
    Ok(id)
}

/// Reads a token that a model can be without; `default` if the key is absent. Files of models with small vocabularies often have a token
/// of their class, which the vocabulary lacks: there is none. Of several end tokens, the first.
pub fn token_if_known(
    json: &JsonObject,
    key: &'static str,
    default: Option<u32>,
    vocabulary: usize,
) -> Result<Option<u32>, ModelError> {
    Ok(first_token(json, key, default)?.filter(|&id| (id as usize) < vocabulary))
}

/// Reads an optional token; `default` if the key is absent.
pub fn optional_token(
    json: &JsonObject,
    key: &'static str,
    default: Option<u32>,
    vocabulary: usize,
) -> Result<Option<u32>, ModelError> {
    first_token(json, key, default)?.map(|id| token(json, key, id, vocabulary)).transpose()
}

fn first_token(
    json: &JsonObject,
    key: &'static str,
    default: Option<u32>,
) -> Result<Option<u32>, ModelError> {
    let ids: Option<TokenIds> = json.get(key)?;
    Ok(ids.map_or(default, |ids| ids.as_slice().first().copied()))
}

/// Reads the special tokens. Padding and end have the defaults of the family's class. The tokens that a decoder may start
/// with have none: transformers takes them from the file alone.
pub fn special_tokens(
    json: &JsonObject,
    pad: u32,
    eos: Option<u32>,
    (source_vocabulary, target_vocabulary): (usize, usize),
) -> Result<SpecialTokens, ModelError> {
    let optional = |key, default| optional_token(json, key, default, target_vocabulary);
    let smaller = source_vocabulary.min(target_vocabulary);
    Ok(SpecialTokens {
        pad: padding_token(json, pad, smaller)?,
        eos: token_if_known(json, "eos_token_id", eos, target_vocabulary)?,
        bos: token_if_known(json, "bos_token_id", None, target_vocabulary)?,
        decoder_start: optional("decoder_start_token_id", None)?,
    })
}

/// The padding token; `default` if the file has none that is not negative.
fn padding_token(json: &JsonObject, default: u32, vocabulary: usize) -> Result<u32, ModelError> {
    let key = "pad_token_id";
    match json.get(key)? {
        Some(id) => token(json, key, id, vocabulary),
        None if (default as usize) < vocabulary => Ok(default),
        None => {
            let expected = format!("a token id below the vocabulary's size, {vocabulary}");
            Err(json.invalid(key, &serde_json::Value::Null, expected))
        }
    }
}

/// 1, or √d_model.  Vaswani et al. 2017, section 3.4.
pub fn embedding_scale(scaled: bool, d_model: usize) -> f32 {
    if scaled { (d_model as f64).sqrt() as f32 } else { 1.0 }
}

/// Reads sharing and sizes of the embedding tables: `share_encoder_decoder_embeddings`, `decoder_vocab_size`.
pub fn vocabularies(
    json: &JsonObject,
    default: usize,
) -> Result<(EmbeddingSharing, usize, usize), ModelError> {
    let source = size(json, "vocab_size", Some(default), limit::VOCABULARY)?;
    let decoder = size(json, "decoder_vocab_size", Some(source), limit::VOCABULARY)?;
    Ok(match json.get_or("share_encoder_decoder_embeddings", true)? {
        true => (EmbeddingSharing::Shared, source, source),
        false => (EmbeddingSharing::Separate, source, decoder),
    })
}
