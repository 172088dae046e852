//! The paper's own model, as `torch.nn.TransformerEncoder` and `torch.nn.TransformerDecoder` build it.

use super::keys::{
    StackKeys, activation, embedding_scale, epsilon, limit, only, optional_token, position_count, size, token,
};
use super::{
    AttentionScale, EmbeddingSharing, Family, Mixer, ModelConfig, NormKind, NormPlacement, OutputProjection,
    Positions, SpecialTokens, StackConfig,
};
use crate::model::error::ModelError;
use crate::model::json::JsonObject;
use crate::model::positions::SinusoidalLayout;

/// Reads a `config.json` with `model_type` "vanilla_transformer". Sizes, tokens and the position of norms are required;
/// other keys default to the paper's choices. `d_k` and `d_v` are widths of a head (table 3, row B); in `torch.nn` both
/// are `d_model / nhead`.
pub fn config(json: &JsonObject) -> Result<ModelConfig, ModelError> {
    only(json, "attention_bias", true, true)?;
    let d_model = size(json, "d_model", None, limit::D_MODEL)?;
    let vocabulary = size(json, "vocab_size", None, limit::VOCABULARY)?;
    let tied = json.get_or("tie_word_embeddings", true)?;
    Ok(ModelConfig {
        family: Family::Vanilla,
        d_model,
        encoder: stack(json, "num_encoder_layers", d_model)?,
        decoder: stack(json, "num_decoder_layers", d_model)?,
        decoder_mixer: Mixer::Attention,
        source_vocabulary: vocabulary,
        target_vocabulary: vocabulary,
        embeddings: EmbeddingSharing::Shared,
        token_types: 0,
        embedding_scale: embedding_scale(json.get_or("scale_embedding", true)?, d_model),
        embedding_norm: false,
        zero_start: false,
        encoder_kinds: Vec::new(),
        global_projections: false,
        block_tokens: None,
        encoder_positions: None,
        positions: positions(json, d_model)?,
        attention_scale: AttentionScale::PAPER,
        activation: activation(json, "activation", "relu")?,
        gated: false,
        biases: true,
        attention_biases: true,
        norm: if json.require("norm_first")? { NormPlacement::Pre } else { NormPlacement::Post },
        norm_kind: norm_kind(json)?,
        final_norm: json.require("final_norm")?,
        layer_norm_eps: epsilon(json, "layer_norm_eps", 1e-5)?,
        output: OutputProjection { tied, bias: !tied, scale: 1.0, transform: None },
        tokens: tokens(json, vocabulary)?,
    })
}

fn stack(json: &JsonObject, layers: &'static str, d_model: usize) -> Result<StackConfig, ModelError> {
    let keys =
        StackKeys { layers: (layers, None), heads: ("nhead", None), ffn_width: ("dim_feedforward", None) };
    let stack = keys.read(json, d_model)?;
    let width = |key| size(json, key, Some(d_model / stack.heads), limit::D_MODEL / stack.heads);
    Ok(StackConfig { d_k: width("d_k")?, d_v: width("d_v")?, ..stack })
}

/// "layer", the paper's, or "batch".
fn norm_kind(json: &JsonObject) -> Result<NormKind, ModelError> {
    const KEY: &str = "normalization";
    let kind: String = json.get_or(KEY, "layer".to_owned())?;
    match kind.as_str() {
        "layer" => Ok(NormKind::Layer),
        "batch" => Ok(NormKind::Batch),
        _ => Err(json.unsupported(KEY, &kind.into(), "\"layer\", \"batch\"")),
    }
}

fn positions(json: &JsonObject, d_model: usize) -> Result<Positions, ModelError> {
    const KEY: &str = "position_embedding_type";
    let count = position_count(json, "max_position_embeddings", None, d_model)?;
    let kind: String = json.get_or(KEY, "sinusoidal_interleaved".to_owned())?;
    match kind.as_str() {
        "sinusoidal_interleaved" => {
            Ok(Positions::Sinusoidal { layout: SinusoidalLayout::Interleaved, count })
        }
        "learned" => Ok(Positions::Learned { count, offset: 0 }),
        _ => Err(json.unsupported(KEY, &kind.into(), "\"sinusoidal_interleaved\", \"learned\"")),
    }
}

fn tokens(json: &JsonObject, vocabulary: usize) -> Result<SpecialTokens, ModelError> {
    let required = |key| token(json, key, json.require(key)?, vocabulary);
    Ok(SpecialTokens {
        pad: required("pad_token_id")?,
        eos: Some(required("eos_token_id")?),
        bos: optional_token(json, "bos_token_id", None, vocabulary)?,
        decoder_start: Some(required("decoder_start_token_id")?),
    })
}
