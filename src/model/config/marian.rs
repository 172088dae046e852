//! Marian: the keys and defaults of Hugging Face's `MarianConfig`.

use super::keys::{
    activation, embedding_scale, encoder_and_decoder, limit, only, position_count, size, special_tokens,
    vocabularies,
};
use super::{
    AttentionScale, Family, Mixer, ModelConfig, NormKind, NormPlacement, OutputProjection, Positions,
};
use crate::model::error::ModelError;
use crate::model::json::JsonObject;
use crate::model::positions::SinusoidalLayout;

/// Reads a Marian `config.json`. As in `MarianMTModel`, these keys of OPUS-MT's files are ignored: `normalize_before`,
/// `normalize_embedding`, `static_position_embeddings`, `extra_pos_embeddings`, `add_final_layer_norm`,
/// `add_bias_logits`.
pub fn config(json: &JsonObject) -> Result<ModelConfig, ModelError> {
    only(json, "is_encoder_decoder", true, true)?;
    let d_model = size(json, "d_model", Some(1024), limit::D_MODEL)?;
    let (encoder, decoder) = encoder_and_decoder(json, d_model)?;
    let (embeddings, source_vocabulary, target_vocabulary) = vocabularies(json, 58_101)?;
    Ok(ModelConfig {
        family: Family::Marian,
        d_model,
        encoder,
        decoder,
        decoder_mixer: Mixer::Attention,
        source_vocabulary,
        target_vocabulary,
        embeddings,
        token_types: 0,
        embedding_scale: embedding_scale(json.get_or("scale_embedding", false)?, d_model),
        embedding_norm: false,
        zero_start: false,
        encoder_kinds: Vec::new(),
        global_projections: false,
        block_tokens: None,
        encoder_positions: None,
        positions: Positions::Sinusoidal {
            layout: SinusoidalLayout::Halves,
            count: position_count(json, "max_position_embeddings", Some(1024), d_model)?,
        },
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
        tokens: special_tokens(json, 58_100, Some(0), (source_vocabulary, target_vocabulary))?,
    })
}
