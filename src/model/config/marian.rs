//! Marian: the keys and defaults of Hugging Face's `MarianConfig`.

use super::{
    EmbeddingSharing, Family, ModelConfig, NormPlacement, OutputProjection, Positions, SpecialTokens,
    StackKeys, activation, embedding_scale, limit, position_count, size, token,
};
use crate::model::error::ModelError;
use crate::model::json::JsonObject;
use crate::model::positions::SinusoidalLayout;

/// Reads a Marian `config.json`.
///
/// OPUS-MT's files also carry `normalize_before`, `normalize_embedding`, `static_position_embeddings`,
/// `extra_pos_embeddings`, `add_final_layer_norm` and `add_bias_logits`. Those are left over from the class that
/// Marian's was copied from: `MarianMTModel` reads none of them, so they change nothing here either.
pub fn config(json: &JsonObject) -> Result<ModelConfig, ModelError> {
    if !json.get_or("is_encoder_decoder", true)? {
        return Err(json.unsupported("is_encoder_decoder", &false.into(), "true"));
    }
    let d_model = size(json, "d_model", Some(1024), limit::D_MODEL)?;
    let encoder = StackKeys {
        layers: ("encoder_layers", Some(12)),
        heads: ("encoder_attention_heads", Some(16)),
        ffn_width: ("encoder_ffn_dim", Some(4096)),
    };
    let decoder = StackKeys {
        layers: ("decoder_layers", Some(12)),
        heads: ("decoder_attention_heads", Some(16)),
        ffn_width: ("decoder_ffn_dim", Some(4096)),
    };
    let source_vocabulary = size(json, "vocab_size", Some(58_101), limit::VOCABULARY)?;
    let decoder_vocabulary = size(json, "decoder_vocab_size", Some(source_vocabulary), limit::VOCABULARY)?;
    let (embeddings, target_vocabulary) = match json.get_or("share_encoder_decoder_embeddings", true)? {
        true => (EmbeddingSharing::Shared, source_vocabulary),
        false => (EmbeddingSharing::Separate, decoder_vocabulary),
    };
    Ok(ModelConfig {
        family: Family::Marian,
        d_model,
        encoder: encoder.read(json, d_model)?,
        decoder: decoder.read(json, d_model)?,
        source_vocabulary,
        target_vocabulary,
        embeddings,
        output: OutputProjection { tied: json.get_or("tie_word_embeddings", true)?, bias: true },
        positions: Positions::Sinusoidal {
            layout: SinusoidalLayout::Halves,
            count: position_count(json, Some(1024), d_model)?,
        },
        embedding_scale: embedding_scale(json.get_or("scale_embedding", false)?, d_model),
        activation: activation(json, "activation_function", "gelu")?,
        norm: NormPlacement::Post,
        final_norm: false,
        layer_norm_eps: 1e-5,
        tokens: tokens(json, source_vocabulary, target_vocabulary)?,
    })
}

fn tokens(json: &JsonObject, source: usize, target: usize) -> Result<SpecialTokens, ModelError> {
    let pad = json.get_or("pad_token_id", 58_100)?;
    let eos = json.get_or("eos_token_id", 0)?;
    let bos: Option<u32> = json.get("bos_token_id")?;
    let decoder_start = json.get_or("decoder_start_token_id", 58_100)?;
    Ok(SpecialTokens {
        pad: token(json, "pad_token_id", pad, source.min(target))?,
        eos: token(json, "eos_token_id", eos, target)?,
        bos: bos.map(|id| token(json, "bos_token_id", id, target)).transpose()?,
        decoder_start: token(json, "decoder_start_token_id", decoder_start, target)?,
    })
}
