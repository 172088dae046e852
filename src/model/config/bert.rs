//! BERT: the keys and defaults of Hugging Face's `BertConfig`, for the masked language model.

use super::keys::{StackKeys, activation, epsilon, limit, only, position_count, size, special_tokens};
use super::{
    AttentionScale, EmbeddingSharing, Family, Mixer, ModelConfig, NormKind, NormPlacement, OutputProjection,
    Positions, StackConfig,
};
use crate::model::error::ModelError;
use crate::model::json::JsonObject;

/// Reads a BERT `config.json`.
pub fn config(json: &JsonObject) -> Result<ModelConfig, ModelError> {
    only(json, "is_decoder", false, false)?;
    only(json, "add_cross_attention", false, false)?;
    only(json, "position_embedding_type", "absolute".to_owned(), "absolute".to_owned())?;
    let d_model = size(json, "hidden_size", Some(768), limit::D_MODEL)?;
    let encoder = StackKeys {
        layers: ("num_hidden_layers", Some(12)),
        heads: ("num_attention_heads", Some(12)),
        ffn_width: ("intermediate_size", Some(3072)),
    };
    let vocabulary = size(json, "vocab_size", Some(30_522), limit::VOCABULARY)?;
    let activation = activation(json, "hidden_act", "gelu")?;
    Ok(ModelConfig {
        family: Family::Bert,
        d_model,
        encoder: encoder.read(json, d_model)?,
        decoder: StackConfig::NONE,
        decoder_mixer: Mixer::Attention,
        source_vocabulary: vocabulary,
        target_vocabulary: vocabulary,
        embeddings: EmbeddingSharing::Shared,
        token_types: size(json, "type_vocab_size", Some(2), limit::TOKEN_TYPES)?,
        embedding_scale: 1.0,
        embedding_norm: true,
        zero_start: false,
        encoder_kinds: Vec::new(),
        global_projections: false,
        block_tokens: None,
        encoder_positions: None,
        positions: Positions::Learned {
            count: position_count(json, "max_position_embeddings", Some(512), d_model)?,
            offset: 0,
        },
        attention_scale: AttentionScale::PAPER,
        activation,
        gated: false,
        biases: true,
        attention_biases: true,
        norm: NormPlacement::Post,
        norm_kind: NormKind::Layer,
        final_norm: false,
        layer_norm_eps: epsilon(json, "layer_norm_eps", 1e-12)?,
        output: OutputProjection {
            tied: json.get_or("tie_word_embeddings", true)?,
            bias: true,
            scale: 1.0,
            transform: Some(activation),
        },
        tokens: special_tokens(json, 0, None, (vocabulary, vocabulary))?,
    })
}
