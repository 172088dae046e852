//! LED: the keys and defaults of Hugging Face's `LEDConfig`.

use serde_json::Value;

use super::keys::{activation, encoder_and_decoder, limit, only, position_count, size, special_tokens};
use super::{
    AttentionScale, EmbeddingSharing, Family, Mixer, ModelConfig, NormKind, NormPlacement, OutputProjection,
    Positions,
};
use crate::model::error::ModelError;
use crate::model::json::JsonObject;
use crate::model::self_attention::{Globals, SelfAttentionKind};

/// Reads a `config.json` of LED.
pub fn config(json: &JsonObject) -> Result<ModelConfig, ModelError> {
    only(json, "is_encoder_decoder", true, true)?;
    let d_model = size(json, "d_model", Some(1024), limit::D_MODEL)?;
    let (encoder, decoder) = encoder_and_decoder(json, d_model)?;
    let vocabulary = size(json, "vocab_size", Some(50_265), limit::VOCABULARY)?;
    let positions = |key, default| {
        let count = position_count(json, key, Some(default), d_model)?;
        Ok::<_, ModelError>(Positions::Learned { count, offset: 0 })
    };
    Ok(ModelConfig {
        family: Family::Led,
        d_model,
        encoder,
        decoder,
        decoder_mixer: Mixer::Attention,
        source_vocabulary: vocabulary,
        target_vocabulary: vocabulary,
        embeddings: EmbeddingSharing::Shared,
        token_types: 0,
        embedding_scale: 1.0,
        embedding_norm: true,
        zero_start: false,
        encoder_kinds: windows(json, encoder.layers)?,
        global_projections: true,
        block_tokens: None,
        encoder_positions: Some(positions("max_encoder_position_embeddings", 16_384)?),
        positions: positions("max_decoder_position_embeddings", 1024)?,
        attention_scale: AttentionScale::PAPER,
        activation: activation(json, "activation_function", "gelu")?,
        gated: false,
        biases: true,
        attention_biases: true,
        norm: NormPlacement::Post,
        norm_kind: NormKind::Layer,
        final_norm: false,
        layer_norm_eps: 1e-5,
        output: OutputProjection {
            tied: json.get_or("tie_word_embeddings", true)?,
            bias: true,
            scale: 1.0,
            transform: None,
        },
        tokens: special_tokens(json, 1, Some(2), (vocabulary, vocabulary))?,
    })
}

/// `attention_window`: the neighbours of a token on both sides together, one number for all layers or one for each.
fn windows(json: &JsonObject, layers: usize) -> Result<Vec<SelfAttentionKind>, ModelError> {
    const KEY: &str = "attention_window";
    let value: Value = json.get_or(KEY, Value::from(512))?;
    let wrong = || {
        let expected =
            format!("an even number from 2 to {}, or a list of {layers}, one for each layer", limit::WINDOW);
        json.invalid(KEY, &value, expected)
    };
    let window = |value: &Value| match value.as_u64() {
        Some(window) if window >= 2 && window <= limit::WINDOW as u64 && window.is_multiple_of(2) => {
            Ok(SelfAttentionKind::Window { radius: window as usize / 2, globals: Globals::Requested })
        }
        _ => Err(wrong()),
    };
    match value.as_array() {
        None => Ok(vec![window(&value)?; layers]),
        Some(list) if list.len() == layers => list.iter().map(window).collect(),
        Some(_) => Err(wrong()),
    }
}
