//! T5 and its relatives: the keys and defaults of Hugging Face's `T5Config`, `LongT5Config`, `MT5Config` and `UMT5Config`.

use super::keys::{activation_called, epsilon, limit, only, size, special_tokens};
use super::{
    AttentionScale, EmbeddingSharing, Family, Mixer, ModelConfig, NormKind, NormPlacement, OutputProjection,
    Positions, RelativePositions, StackConfig,
};
use crate::activation::Activation;
use crate::model::error::ModelError;
use crate::model::json::JsonObject;
use crate::model::self_attention::{Globals, SelfAttentionKind};

/// Reads a `config.json` of LongT5, whose encoder layers see windows, and perhaps sums of blocks.
pub fn long_config(json: &JsonObject) -> Result<ModelConfig, ModelError> {
    const KEY: &str = "encoder_attention_type";
    let radius = size(json, "local_radius", Some(127), limit::WINDOW)?;
    let tokens = size(json, "global_block_size", Some(16), limit::WINDOW)?;
    let (kind, block_tokens) = match &json.get_or(KEY, "local".to_owned())?[..] {
        "local" => (SelfAttentionKind::Window { radius, globals: Globals::None }, None),
        "transient-global" => (SelfAttentionKind::TransientGlobal { radius }, Some(tokens)),
        other => return Err(json.unsupported(KEY, &other.into(), "local, transient-global")),
    };
    let config = config(json, Family::T5)?;
    let encoder_kinds = vec![kind; config.encoder.layers];
    Ok(ModelConfig { family: Family::LongT5, encoder_kinds, block_tokens, ..config })
}

/// What a class takes for absent keys.
struct Defaults {
    heads: usize,
    layers: usize,
    ffn_width: usize,
    vocabulary: usize,
    feed_forward: &'static str,
}

impl Defaults {
    fn of(family: Family) -> Self {
        match family {
            Family::MT5 | Family::UMT5 => {
                Self { heads: 6, layers: 8, ffn_width: 1024, vocabulary: 250_112, feed_forward: "gated-gelu" }
            }
            _ => Self { heads: 8, layers: 6, ffn_width: 2048, vocabulary: 32_128, feed_forward: "relu" },
        }
    }
}

/// Reads a `config.json` of T5 itself, T5 1.1 and Flan-T5, or of its relatives mT5 and UMT5.
pub fn config(json: &JsonObject, family: Family) -> Result<ModelConfig, ModelError> {
    only(json, "is_encoder_decoder", true, true)?;
    let defaults = Defaults::of(family);
    let d_model = size(json, "d_model", Some(512), limit::D_MODEL)?;
    let heads = size(json, "num_heads", Some(defaults.heads), limit::D_MODEL)?;
    let d_kv = size(json, "d_kv", Some(64), limit::D_MODEL / heads)?;
    let layers = size(json, "num_layers", Some(defaults.layers), limit::LAYERS)?;
    let ffn_width = size(json, "d_ff", Some(defaults.ffn_width), limit::FFN_WIDTH)?;
    let encoder = StackConfig { layers, heads, d_k: d_kv, d_v: d_kv, ffn_width };
    let decoder_layers = size(json, "num_decoder_layers", Some(layers), limit::LAYERS)?;
    let vocabulary = size(json, "vocab_size", Some(defaults.vocabulary), limit::VOCABULARY)?;
    let (activation, gated) = feed_forward(json, defaults.feed_forward)?;
    // in transformers 5 this switch only decides the scale, and mT5 has none; the tensors decide about tying
    let scaled = family != Family::MT5
        && json.get_or("scale_decoder_outputs", json.get_or("tie_word_embeddings", true)?)?;
    Ok(ModelConfig {
        family,
        d_model,
        encoder,
        decoder: StackConfig { layers: decoder_layers, ..encoder },
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
        positions: Positions::Relative(relative_positions(json, heads, family == Family::UMT5)?),
        attention_scale: AttentionScale { by_width: false, by_layer: false },
        activation,
        gated,
        biases: false,
        attention_biases: false,
        norm: NormPlacement::Pre,
        norm_kind: NormKind::Rms,
        final_norm: true,
        layer_norm_eps: epsilon(json, "layer_norm_epsilon", 1e-6)?,
        output: OutputProjection {
            tied: true,
            bias: false,
            scale: if scaled { 1.0 / (d_model as f64).sqrt() as f32 } else { 1.0 },
            transform: None,
        },
        tokens: special_tokens(json, 0, Some(1), (vocabulary, vocabulary))?,
    })
}

/// `feed_forward_proj`: an activation, with the prefix `gated-` for a gate. `dense_act_fn` and `is_gated_act`, which Hugging Face
/// computes from it and stores beside it, win where they differ.
fn feed_forward(json: &JsonObject, default: &str) -> Result<(Activation, bool), ModelError> {
    const KEY: &str = "feed_forward_proj";
    const DENSE: &str = "dense_act_fn";
    let value: String = json.get_or(KEY, default.to_owned())?;
    let (name, gated) = match value.strip_prefix("gated-") {
        // HF: "for backwards compatibility"
        Some("gelu") => ("gelu_new", true),
        Some(name) => (name, true),
        None => (&*value, false),
    };
    let activation = match json.get::<String>(DENSE)? {
        Some(dense) => activation_called(json, DENSE, &dense, &dense)?,
        None => activation_called(json, KEY, &value, name)?,
    };
    Ok((activation, json.get_or("is_gated_act", gated)?))
}

fn relative_positions(
    json: &JsonObject,
    heads: usize,
    of_each_layer: bool,
) -> Result<RelativePositions, ModelError> {
    let most = limit::POSITION_VALUES / 4 / heads;
    let buckets = size(json, "relative_attention_num_buckets", Some(32), most)?;
    if buckets < 4 {
        let expected = "at least 4: near and far, before and after";
        return Err(json.invalid("relative_attention_num_buckets", &buckets.into(), expected));
    }
    let max_distance = size(json, "relative_attention_max_distance", Some(128), most)?;
    if max_distance <= buckets / 2 {
        let expected = format!("more than half of the {buckets} buckets");
        return Err(json.invalid("relative_attention_max_distance", &max_distance.into(), expected));
    }
    Ok(RelativePositions { buckets, max_distance, of_each_layer })
}
