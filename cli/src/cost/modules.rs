//! Parameters and multiplications of each module.

use serde::Serialize;
use wordloom::model::config::{Mixer, ModelConfig, StackConfig};

/// Tokens of a source and of its target.
#[derive(Clone, Copy)]
pub struct Lengths {
    pub source: u64,
    pub target: u64,
}

/// A kind of module, in all layers of its stack.
#[derive(Clone, Serialize)]
pub struct Module {
    pub name: &'static str,
    /// Trained values; tied ones count once.
    pub parameters: u64,
    /// Multiplications of matrix products, of one source and its target. Element-wise work is left out.
    #[serde(serialize_with = "as_float")]
    pub multiplications: u128,
}

/// JSON numbers hold 53 bits exactly.
fn as_float<S: serde::Serializer>(number: &u128, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(*number as f64)
}

/// The modules that the model has.
pub fn modules(config: &ModelConfig, lengths: Lengths) -> Vec<Module> {
    let Lengths { source, target } = lengths;
    let (source, target) = (u128::from(source), u128::from(target));
    let parts = config.parameters();
    let (encoder, decoder) = (&config.encoder, &config.decoder);
    let d_model = config.d_model as u128;
    let crosses = u64::from(encoder.layers > 0) * decoder.layers as u64;
    let own = match config.decoder_mixer {
        Mixer::Attention => config.attention_parameters(decoder),
        Mixer::Ssru => config.recurrent_parameters(),
    };
    let per_layer = |stack: &StackConfig, one: u64| one * stack.layers as u64;
    let encoder_blocks = config.attention_parameters(encoder) + config.feed_forward_parameters(encoder);
    let decoder_blocks = per_layer(decoder, own + config.feed_forward_parameters(decoder))
        + crosses * config.attention_parameters(decoder);
    let module = |name, parameters, multiplications| Module { name, parameters, multiplications };
    let weights = |stack: &StackConfig| u128::from(config.attention_weights(stack)) * stack.layers as u128;
    let widths =
        |stack: &StackConfig| (stack.key_width() + stack.value_width()) as u128 * stack.layers as u128;
    let feed_forward =
        |stack: &StackConfig| u128::from(config.feed_forward_weights(stack)) * stack.layers as u128;
    let (own_projections, own_products) = match config.decoder_mixer {
        // token t of a search sees t keys
        Mixer::Attention => (target * weights(decoder), target * (target + 1) / 2 * widths(decoder)),
        Mixer::Ssru => (target * 2 * d_model * d_model * decoder.layers as u128, 0),
    };
    let cross_weights = if crosses > 0 { weights(decoder) } else { 0 };
    let cross_widths = if crosses > 0 { widths(decoder) } else { 0 };
    let transform = if config.output.transform.is_some() { d_model * d_model } else { 0 };
    // an encoder alone gives logits of its source
    let outputs = if decoder.layers > 0 { target } else { source };
    let all = [
        module("embeddings", parts.embeddings, 0),
        module(
            "encoder self-attention, projections",
            per_layer(encoder, config.attention_parameters(encoder)),
            source * weights(encoder),
        ),
        module("encoder self-attention, products", 0, source * source * widths(encoder)),
        module(
            "encoder feed-forward",
            per_layer(encoder, config.feed_forward_parameters(encoder)),
            source * feed_forward(encoder),
        ),
        module("encoder, other", parts.encoder - per_layer(encoder, encoder_blocks), 0),
        module(
            match config.decoder_mixer {
                Mixer::Attention => "decoder self-attention, projections",
                Mixer::Ssru => "decoder recurrent unit",
            },
            per_layer(decoder, own),
            own_projections,
        ),
        module("decoder self-attention, products", 0, own_products),
        // half of the projections are of queries and outputs, half of keys and values
        module(
            "cross-attention, projections",
            crosses * config.attention_parameters(decoder),
            (source + target) * cross_weights / 2,
        ),
        module("cross-attention, products", 0, source * target * cross_widths),
        module(
            "decoder feed-forward",
            per_layer(decoder, config.feed_forward_parameters(decoder)),
            target * feed_forward(decoder),
        ),
        module("decoder, other", parts.decoder - decoder_blocks, 0),
        module(
            "output projection",
            parts.output,
            outputs * (transform + d_model * config.target_vocabulary as u128),
        ),
    ];
    all.into_iter().filter(|module| module.parameters > 0 || module.multiplications > 0).collect()
}

pub fn total(modules: &[Module]) -> Module {
    Module {
        name: "all",
        parameters: modules.iter().map(|module| module.parameters).sum(),
        multiplications: modules.iter().map(|module| module.multiplications).sum(),
    }
}

/// Bytes that a search keeps of a sentence with one beam, in f32.
#[derive(Clone, Copy, Serialize)]
pub struct CacheBytes {
    /// Keys and values of self-attention; cells of a recurrent unit.
    pub of_target: u64,
    /// Keys and values of cross-attention.
    pub of_source: u64,
}

pub fn cache_bytes(config: &ModelConfig, lengths: Lengths) -> CacheBytes {
    let decoder = &config.decoder;
    let (layers, widths) = (decoder.layers as u64, (decoder.key_width() + decoder.value_width()) as u64);
    let kept = match config.decoder_mixer {
        Mixer::Attention => widths,
        Mixer::Ssru => config.d_model as u64,
    };
    let crosses = u64::from(config.encoder.layers > 0) * layers;
    CacheBytes {
        of_target: 4 * layers * kept * lengths.target,
        of_source: 4 * crosses * widths * lengths.source,
    }
}
