//! BART and its relatives, with shared keys but different switches and defaults: Hugging Face's `BartConfig`,
//! `MBartConfig`, `M2M100Config`, `PegasusConfig`.

use super::keys::{
    activation, embedding_scale, encoder_and_decoder, limit, only, position_count, size, special_tokens,
};
use super::{
    AttentionScale, EmbeddingSharing, Family, Mixer, ModelConfig, NormKind, NormPlacement, OutputProjection,
    Positions,
};
use crate::model::error::ModelError;
use crate::model::json::JsonObject;
use crate::model::positions::SinusoidalLayout;

/// The switches of a family, and the defaults of its keys.
struct Kin {
    vocabulary: usize,
    activation: &'static str,
    scale_embedding: bool,
    pad: u32,
    eos: u32,
    norm: NormPlacement,
    embedding_norm: bool,
    logits_bias: bool,
}

const BART: Kin = Kin {
    vocabulary: 50_265,
    activation: "gelu",
    scale_embedding: false,
    pad: 1,
    eos: 2,
    norm: NormPlacement::Post,
    embedding_norm: true,
    logits_bias: true,
};

const MBART: Kin = Kin { norm: NormPlacement::Pre, ..BART };

const M2M_100: Kin = Kin {
    vocabulary: 128_112,
    activation: "relu",
    scale_embedding: true,
    norm: NormPlacement::Pre,
    embedding_norm: false,
    logits_bias: false,
    ..BART
};

const PEGASUS: Kin = Kin { pad: 0, eos: 1, norm: NormPlacement::Pre, embedding_norm: false, ..BART };

/// Reads a `config.json` of one of the four families. As in Hugging Face's classes, these keys of old files are
/// ignored: `normalize_before`, `normalize_embedding`, `add_final_layer_norm`, `add_bias_logits`,
/// `static_position_embeddings`, `extra_pos_embeddings`.
pub fn config(json: &JsonObject, family: Family) -> Result<ModelConfig, ModelError> {
    let kin = match family {
        Family::MBart => MBART,
        Family::M2m100 => M2M_100,
        Family::Pegasus => PEGASUS,
        _ => BART,
    };
    only(json, "is_encoder_decoder", true, true)?;
    let d_model = size(json, "d_model", Some(1024), limit::D_MODEL)?;
    let (encoder, decoder) = encoder_and_decoder(json, d_model)?;
    let vocabulary = size(json, "vocab_size", Some(kin.vocabulary), limit::VOCABULARY)?;
    let tokens = special_tokens(json, kin.pad, Some(kin.eos), (vocabulary, vocabulary))?;
    let count = position_count(json, "max_position_embeddings", Some(1024), d_model)?;
    let positions = match family {
        Family::M2m100 if d_model < 4 => {
            return Err(json.invalid("d_model", &d_model.into(), "at least 4, for M2M-100's sinusoids"));
        }
        Family::M2m100 => Positions::SinusoidalWithoutPadding { count, pad: tokens.pad },
        Family::Pegasus => Positions::Sinusoidal { layout: SinusoidalLayout::Halves, count },
        _ => Positions::Learned { count, offset: 2 },
    };
    Ok(ModelConfig {
        family,
        d_model,
        encoder,
        decoder,
        decoder_mixer: Mixer::Attention,
        source_vocabulary: vocabulary,
        target_vocabulary: vocabulary,
        embeddings: EmbeddingSharing::Shared,
        token_types: 0,
        embedding_scale: embedding_scale(json.get_or("scale_embedding", kin.scale_embedding)?, d_model),
        embedding_norm: kin.embedding_norm,
        zero_start: false,
        encoder_kinds: Vec::new(),
        global_projections: false,
        block_tokens: None,
        encoder_positions: None,
        positions,
        attention_scale: AttentionScale::PAPER,
        activation: activation(json, "activation_function", kin.activation)?,
        gated: false,
        biases: true,
        attention_biases: true,
        norm: kin.norm,
        norm_kind: NormKind::Layer,
        final_norm: kin.norm == NormPlacement::Pre,
        layer_norm_eps: 1e-5,
        output: OutputProjection {
            tied: json.get_or("tie_word_embeddings", true)?,
            bias: kin.logits_bias,
            scale: 1.0,
            transform: None,
        },
        tokens,
    })
}
