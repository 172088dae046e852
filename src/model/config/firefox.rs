//! Firefox's translation models: the options of Marian, in which they are trained.

use serde_json::Value;

use super::keys::{StackKeys, limit, only, size, special_tokens};
use super::{
    AttentionScale, EmbeddingSharing, Family, Mixer, ModelConfig, NormKind, NormPlacement, OutputProjection,
    Positions, SpecialTokens,
};
use crate::activation::Activation;
use crate::model::error::ModelError;
use crate::model::json::JsonObject;
use crate::model::positions::SinusoidalLayout;

/// Rows of the position table. Marian computes positions without a limit.
const POSITIONS: usize = 1024;

/// Reads Marian's options by their own names, with Marian's defaults. Options of training and of other architectures
/// are ignored, unless they would change the result of a Transformer.
pub fn config(json: &JsonObject) -> Result<ModelConfig, ModelError> {
    refuse_others(json)?;
    let d_model = size(json, "dim-emb", None, limit::D_MODEL)?;
    if d_model < 4 || !d_model.is_multiple_of(2) {
        return Err(json.invalid("dim-emb", &d_model.into(), "an even number, at least 4"));
    }
    let stack = |layers| StackKeys {
        layers: (layers, None),
        heads: ("transformer-heads", Some(8)),
        ffn_width: ("transformer-dim-ffn", Some(2048)),
    };
    let (embeddings, tied) = sharing(json)?;
    let [source_vocabulary, target_vocabulary] = vocabularies(json, embeddings)?;
    Ok(ModelConfig {
        family: Family::Firefox,
        d_model,
        encoder: stack("enc-depth").read(json, d_model)?,
        decoder: stack("dec-depth").read(json, d_model)?,
        decoder_mixer: mixer(json)?,
        source_vocabulary,
        target_vocabulary,
        embeddings,
        token_types: 0,
        embedding_scale: (d_model as f32).sqrt(),
        embedding_norm: false,
        zero_start: true,
        encoder_kinds: Vec::new(),
        global_projections: false,
        block_tokens: None,
        encoder_positions: None,
        positions: Positions::Sinusoidal { layout: SinusoidalLayout::Tensor2Tensor, count: POSITIONS },
        attention_scale: AttentionScale::PAPER,
        activation: activation(json)?,
        gated: false,
        biases: true,
        attention_biases: true,
        norm: NormPlacement::Post,
        norm_kind: NormKind::Layer,
        final_norm: false,
        layer_norm_eps: 1e-6,
        output: OutputProjection {
            tied,
            bias: !json.get_or("output-omit-bias", false)?,
            scale: 1.0,
            transform: None,
        },
        // Marian's SentencePiece vocabularies begin with the end token; there is no padding and no start token
        tokens: SpecialTokens {
            decoder_start: Some(0),
            ..special_tokens(json, 0, Some(0), (source_vocabulary, target_vocabulary))?
        },
    })
}

/// Rejects options that would change the computation.
fn refuse_others(json: &JsonObject) -> Result<(), ModelError> {
    let text =
        |key, default: &str, supported: &str| only(json, key, default.to_owned(), supported.to_owned());
    text("type", "transformer", "transformer")?;
    text("transformer-preprocess", "", "")?;
    text("transformer-postprocess", "dan", "dan")?;
    text("transformer-postprocess-top", "", "")?;
    let dropout: String = json.get_or("transformer-postprocess-emb", "d".to_owned())?;
    if !dropout.chars().all(|letter| letter == 'd') {
        return Err(json.unsupported("transformer-postprocess-emb", &dropout.into(), "\"d\""));
    }
    for key in [
        "transformer-no-projection",
        "transformer-train-position-embeddings",
        "transformer-train-positions",
        "transformer-pool",
        "layer-normalization",
        "ulr",
    ] {
        only(json, key, false, false)?;
    }
    only(json, "transformer-ffn-depth", 2usize, 2)?;
    only(json, "lemma-dim-emb", 0usize, 0)?;
    match json.entries().find(|(key, _)| *key == "transformer-tied-layers") {
        Some((key, value)) if *value != Value::Null && *value != Value::Array(Vec::new()) => {
            Err(json.unsupported(key, value, "[]"))
        }
        _ => Ok(()),
    }
}

/// The sharing of embeddings, and whether the output projection is the target's.
fn sharing(json: &JsonObject) -> Result<(EmbeddingSharing, bool), ModelError> {
    let all = json.get_or("tied-embeddings-all", false)?;
    let output = json.get_or("tied-embeddings", false)?;
    let sources = json.get_or("tied-embeddings-src", false)?;
    let sharing = if all || sources { EmbeddingSharing::Shared } else { EmbeddingSharing::Separate };
    Ok((sharing, all || output))
}

/// `dim-vocabs`, source and target.
fn vocabularies(json: &JsonObject, embeddings: EmbeddingSharing) -> Result<[usize; 2], ModelError> {
    const KEY: &str = "dim-vocabs";
    let sizes: Vec<u32> = json.require(KEY)?;
    let valid = |size: &u32| (1..=limit::VOCABULARY).contains(&(*size as usize));
    match sizes[..] {
        [source, target]
            if sizes.iter().all(valid) && (embeddings == EmbeddingSharing::Separate || source == target) =>
        {
            Ok([source as usize, target as usize])
        }
        _ => {
            let equal = if embeddings == EmbeddingSharing::Shared { " equal" } else { "" };
            let expected = format!("two{equal} sizes from 1 to {}", limit::VOCABULARY);
            Err(json.invalid(KEY, &sizes.into(), expected))
        }
    }
}

/// `transformer-decoder-autoreg` and `dec-cell`.
fn mixer(json: &JsonObject) -> Result<Mixer, ModelError> {
    const KEY: &str = "transformer-decoder-autoreg";
    let kind: String = json.get_or(KEY, "self-attention".to_owned())?;
    match kind.as_str() {
        "self-attention" => Ok(Mixer::Attention),
        "rnn" => {
            only(json, "dec-cell", "gru".to_owned(), "ssru".to_owned())?;
            Ok(Mixer::Ssru)
        }
        _ => Err(json.unsupported(KEY, &kind.into(), "\"rnn\", \"self-attention\"")),
    }
}

/// Marian's "gelu" is `x σ(1.702 x)`.
fn activation(json: &JsonObject) -> Result<Activation, ModelError> {
    const KEY: &str = "transformer-ffn-activation";
    let name: String = json.get_or(KEY, "swish".to_owned())?;
    match name.as_str() {
        "relu" => Ok(Activation::Relu),
        "swish" => Ok(Activation::Silu),
        "gelu" => Ok(Activation::QuickGelu),
        _ => Err(json.unsupported(KEY, &name.into(), "\"relu\", \"swish\", \"gelu\"")),
    }
}
