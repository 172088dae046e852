//! GPT-2: the keys and defaults of Hugging Face's `GPT2Config`, for the language model.

use super::keys::{activation, epsilon, limit, only, position_count, size, token, token_if_known};
use super::{
    AttentionScale, EmbeddingSharing, Family, Mixer, ModelConfig, NormKind, NormPlacement, OutputProjection,
    Positions, SpecialTokens, StackConfig,
};
use crate::model::error::ModelError;
use crate::model::json::JsonObject;

/// Reads a GPT-2 `config.json`. `reorder_and_upcast_attn` is ignored: it only changes attention in half precision.
pub fn config(json: &JsonObject) -> Result<ModelConfig, ModelError> {
    only(json, "add_cross_attention", false, false)?;
    let d_model = size(json, "n_embd", Some(768), limit::D_MODEL)?;
    let heads = size(json, "n_head", Some(12), d_model)?;
    if !d_model.is_multiple_of(heads) {
        return Err(json.invalid("n_head", &heads.into(), format!("a divisor of n_embd, {d_model}")));
    }
    let decoder = StackConfig {
        layers: size(json, "n_layer", Some(12), limit::LAYERS)?,
        heads,
        d_k: d_model / heads,
        d_v: d_model / heads,
        ffn_width: size(json, "n_inner", Some(4 * d_model), limit::FFN_WIDTH)?,
    };
    let vocabulary = size(json, "vocab_size", Some(50_257), limit::VOCABULARY)?;
    Ok(ModelConfig {
        family: Family::Gpt2,
        d_model,
        encoder: StackConfig::NONE,
        decoder,
        decoder_mixer: Mixer::Attention,
        source_vocabulary: vocabulary,
        target_vocabulary: vocabulary,
        embeddings: EmbeddingSharing::Shared,
        token_types: 0,
        embedding_scale: 1.0,
        embedding_norm: false,
        zero_start: false,
        encoder_kinds: Vec::new(),
        global_projections: false,
        block_tokens: None,
        encoder_positions: None,
        positions: Positions::Learned {
            count: position_count(json, "n_positions", Some(1024), d_model)?,
            offset: 0,
        },
        attention_scale: AttentionScale {
            by_width: json.get_or("scale_attn_weights", true)?,
            by_layer: json.get_or("scale_attn_by_inverse_layer_idx", false)?,
        },
        activation: activation(json, "activation_function", "gelu_new")?,
        gated: false,
        biases: true,
        attention_biases: true,
        norm: NormPlacement::Pre,
        norm_kind: NormKind::Layer,
        final_norm: true,
        layer_norm_eps: epsilon(json, "layer_norm_epsilon", 1e-5)?,
        output: OutputProjection {
            tied: json.get_or("tie_word_embeddings", true)?,
            bias: false,
            scale: 1.0,
            transform: None,
        },
        tokens: tokens(json, vocabulary)?,
    })
}

/// The special tokens. GPT-2 has no padding token, but any token can pad, because padding is masked.
fn tokens(json: &JsonObject, vocabulary: usize) -> Result<SpecialTokens, ModelError> {
    let last = 50_256_u32;
    let default = Some(last).filter(|&id| (id as usize) < vocabulary);
    let eos = token_if_known(json, "eos_token_id", default, vocabulary)?;
    let pad: Option<u32> = json.get("pad_token_id")?;
    Ok(SpecialTokens {
        pad: token(json, "pad_token_id", pad.or(eos).unwrap_or(0), vocabulary)?,
        eos,
        bos: token_if_known(json, "bos_token_id", default, vocabulary)?,
        decoder_start: None,
    })
}
