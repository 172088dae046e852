//! RoBERTa and XLM-RoBERTa: the keys and defaults of Hugging Face's `RobertaConfig` and `XLMRobertaConfig`, for the masked
//! language model.

use super::keys::{StackKeys, activation, epsilon, limit, only, size, special_tokens};
use super::{
    AttentionScale, EmbeddingSharing, Family, Mixer, ModelConfig, NormKind, NormPlacement, OutputProjection,
    Positions, StackConfig,
};
use crate::activation::Activation;
use crate::model::error::ModelError;
use crate::model::json::JsonObject;

/// Reads a `config.json` of one of the two families.
pub fn config(json: &JsonObject, family: Family) -> Result<ModelConfig, ModelError> {
    only(json, "is_decoder", false, false)?;
    only(json, "add_cross_attention", false, false)?;
    only(json, "position_embedding_type", "absolute".to_owned(), "absolute".to_owned())?;
    let d_model = size(json, "hidden_size", Some(768), limit::D_MODEL)?;
    let encoder = StackKeys {
        layers: ("num_hidden_layers", Some(12)),
        heads: ("num_attention_heads", Some(12)),
        ffn_width: ("intermediate_size", Some(3072)),
    };
    let default = if family == Family::XlmRoberta { 30_522 } else { 50_265 };
    let vocabulary = size(json, "vocab_size", Some(default), limit::VOCABULARY)?;
    let tokens = special_tokens(json, 1, Some(2), (vocabulary, vocabulary))?;
    Ok(ModelConfig {
        family,
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
        positions: positions(json, d_model, tokens.pad)?,
        attention_scale: AttentionScale::PAPER,
        activation: activation(json, "hidden_act", "gelu")?,
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
            // whatever `hidden_act` is
            transform: Some(Activation::Gelu),
        },
        tokens,
    })
}

/// The rows up to the padding's are not positions, so a table of 514 rows is for 512 tokens.
fn positions(json: &JsonObject, d_model: usize, pad: u32) -> Result<Positions, ModelError> {
    const KEY: &str = "max_position_embeddings";
    let rows = size(json, KEY, Some(512), limit::POSITION_VALUES / d_model)?;
    match rows.checked_sub(pad as usize + 1) {
        None | Some(0) => {
            Err(json.invalid(KEY, &rows.into(), format!("more than {}, the padding token and one", pad + 1)))
        }
        Some(count) => Ok(Positions::LearnedWithoutPadding { count, pad }),
    }
}
