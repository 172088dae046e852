//! The paper's own model, as `torch.nn.TransformerEncoder` and `torch.nn.TransformerDecoder` build it.

use serde_json::Value;

use super::{
    EmbeddingSharing, Family, ModelConfig, NormPlacement, OutputProjection, Positions, SpecialTokens,
    StackKeys, activation, embedding_scale, limit, position_count, size, token,
};
use crate::model::error::ModelError;
use crate::model::json::{JsonObject, JsonValue};
use crate::model::positions::SinusoidalLayout;

/// Reads a `config.json` with `model_type` "vanilla_transformer". Sizes, tokens and the place of the norms must be
/// given; the other keys default to the paper's choices.
pub fn config(json: &JsonObject) -> Result<ModelConfig, ModelError> {
    only(json, "position_embedding_type", "sinusoidal_interleaved".to_owned())?;
    only(json, "attention_bias", true)?;
    let d_model = size(json, "d_model", None, limit::D_MODEL)?;
    let stack = |layers| StackKeys {
        layers: (layers, None),
        heads: ("nhead", None),
        ffn_width: ("dim_feedforward", None),
    };
    let vocabulary = size(json, "vocab_size", None, limit::VOCABULARY)?;
    let tied = json.get_or("tie_word_embeddings", true)?;
    let layer_norm_eps = json.get_or("layer_norm_eps", 1e-5_f32)?;
    if !(layer_norm_eps.is_finite() && layer_norm_eps >= 0.0) {
        return Err(json.invalid("layer_norm_eps", &layer_norm_eps.into(), "a small number, not negative"));
    }
    Ok(ModelConfig {
        family: Family::Vanilla,
        d_model,
        encoder: stack("num_encoder_layers").read(json, d_model)?,
        decoder: stack("num_decoder_layers").read(json, d_model)?,
        source_vocabulary: vocabulary,
        target_vocabulary: vocabulary,
        embeddings: EmbeddingSharing::Shared,
        output: OutputProjection { tied, bias: !tied },
        positions: Positions::Sinusoidal {
            layout: SinusoidalLayout::Interleaved,
            count: position_count(json, None, d_model)?,
        },
        embedding_scale: embedding_scale(json.get_or("scale_embedding", true)?, d_model),
        activation: activation(json, "activation", "relu")?,
        norm: if json.require("norm_first")? { NormPlacement::Pre } else { NormPlacement::Post },
        final_norm: json.require("final_norm")?,
        layer_norm_eps,
        tokens: tokens(json, vocabulary)?,
    })
}

fn tokens(json: &JsonObject, vocabulary: usize) -> Result<SpecialTokens, ModelError> {
    let required = |key| token(json, key, json.require(key)?, vocabulary);
    let bos: Option<u32> = json.get("bos_token_id")?;
    Ok(SpecialTokens {
        pad: required("pad_token_id")?,
        eos: required("eos_token_id")?,
        bos: bos.map(|id| token(json, "bos_token_id", id, vocabulary)).transpose()?,
        decoder_start: required("decoder_start_token_id")?,
    })
}

/// A key of which only one value is supported, the default.
fn only<T>(json: &JsonObject, key: &'static str, supported: T) -> Result<(), ModelError>
where
    T: JsonValue + PartialEq + Clone + Into<Value>,
{
    let value = json.get_or(key, supported.clone())?;
    if value == supported {
        return Ok(());
    }
    Err(json.unsupported(key, &value.into(), supported.into().to_string()))
}
