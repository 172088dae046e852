//! BigBird-Pegasus: the keys and defaults of Hugging Face's `BigBirdPegasusConfig`.

use super::keys::{
    activation, embedding_scale, encoder_and_decoder_of, limit, only, position_count, size, special_tokens,
};
use super::{
    AttentionScale, EmbeddingSharing, Family, Mixer, ModelConfig, NormKind, NormPlacement, OutputProjection,
    Positions,
};
use crate::model::error::ModelError;
use crate::model::json::JsonObject;
use crate::model::self_attention::{SelfAttentionKind, TokenBlocks};

/// Reads a `config.json` of BigBird-Pegasus.
pub fn config(json: &JsonObject) -> Result<ModelConfig, ModelError> {
    only(json, "is_encoder_decoder", true, true)?;
    let d_model = size(json, "d_model", Some(1024), limit::D_MODEL)?;
    let (encoder, decoder) = encoder_and_decoder_of(json, d_model, 16)?;
    let vocabulary = size(json, "vocab_size", Some(96_103), limit::VOCABULARY)?;
    let count = position_count(json, "max_position_embeddings", Some(4096), d_model)?;
    Ok(ModelConfig {
        family: Family::BigBirdPegasus,
        d_model,
        encoder,
        decoder,
        decoder_mixer: Mixer::Attention,
        source_vocabulary: vocabulary,
        target_vocabulary: vocabulary,
        embeddings: EmbeddingSharing::Shared,
        token_types: 0,
        embedding_scale: embedding_scale(json.get_or("scale_embedding", true)?, d_model),
        embedding_norm: false,
        zero_start: false,
        encoder_kinds: vec![kind(json)?; encoder.layers],
        global_projections: false,
        block_tokens: None,
        encoder_positions: None,
        positions: Positions::Learned { count, offset: 0 },
        attention_scale: AttentionScale::PAPER,
        activation: activation(json, "activation_function", "gelu_new")?,
        gated: false,
        biases: true,
        attention_biases: json.get_or("use_bias", false)?,
        norm: NormPlacement::Pre,
        norm_kind: NormKind::Layer,
        final_norm: true,
        layer_norm_eps: 1e-5,
        output: OutputProjection {
            tied: json.get_or("tie_word_embeddings", true)?,
            bias: true,
            scale: 1.0,
            transform: None,
        },
        tokens: special_tokens(json, 0, Some(1), (vocabulary, vocabulary))?,
    })
}

/// `attention_type`, with `block_size` and `num_random_blocks`.
fn kind(json: &JsonObject) -> Result<SelfAttentionKind, ModelError> {
    const KEY: &str = "attention_type";
    const RANDOM: &str = "num_random_blocks";
    match &json.get_or(KEY, "block_sparse".to_owned())?[..] {
        "original_full" => Ok(SelfAttentionKind::Full),
        "block_sparse" => {
            let random = json.get_or(RANDOM, 3_usize)?;
            if random > TokenBlocks::LIMIT {
                let expected = format!("a whole number from 0 to {}", TokenBlocks::LIMIT);
                return Err(json.invalid(RANDOM, &random.into(), expected));
            }
            let size = size(json, "block_size", Some(64), TokenBlocks::LIMIT)?;
            Ok(SelfAttentionKind::Blocks(TokenBlocks { size, random }))
        }
        other => Err(json.unsupported(KEY, &other.into(), "block_sparse, original_full")),
    }
}
