//! What goes into a forward pass, and what comes out.

use crate::model::config::{ModelConfig, StackConfig};

/// A batch of texts, padded to common lengths: sources and targets, or in models of one stack just `input_ids`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForwardInput {
    /// Sentences.
    pub batch: usize,
    /// Tokens of each source, padding included.
    pub source_length: usize,
    /// Tokens of each target; 0 in models of one stack.
    pub target_length: usize,
    /// `[batch, source_length]`: what the encoder reads, or in decoder-only models the decoder.
    pub input_ids: Vec<u32>,
    /// `[batch, source_length]`, 1 where there is a token, 0 where there is padding.
    pub attention_mask: Vec<u32>,
    /// `[batch, source_length]`: which kind of text each token belongs to, in models that have kinds (BERT's segments).
    /// Empty for kind 0 everywhere.
    pub token_type_ids: Vec<u32>,
    /// `[batch, target_length]`, beginning with the decoder's start token; empty in models of one stack.
    pub decoder_input_ids: Vec<u32>,
}

/// A host tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Sizes, outermost first.
    pub shape: Vec<usize>,
    /// Row-major.
    pub data: Vec<f32>,
}

/// What a forward pass gives. Names are those of Hugging Face's `Seq2SeqLMOutput`; a model of one stack leaves those of
/// the other empty. Lengths are those of the source for an encoder, of the target for a decoder that has an encoder.
#[derive(Clone, Debug, PartialEq)]
pub struct ForwardOutput {
    /// `[batch, source_length, d_model]`
    pub encoder_last_hidden_state: Tensor,
    /// `[batch, target_length, target_vocabulary]`; in models of one stack `[batch, source_length, …]`
    pub logits: Tensor,
    /// The embeddings, and what each layer makes of them: `[batch, source_length, d_model]`. The last is what comes after
    /// the final norm, as in Hugging Face's classes (but [`ModelConfig::last_hidden_is_normed`]).
    pub encoder_hidden_states: Vec<Tensor>,
    /// The same of the decoder: `[batch, target_length, d_model]`
    pub decoder_hidden_states: Vec<Tensor>,
    /// For each selected layer `[batch, heads, source_length, source_length]`
    pub encoder_attentions: Vec<Tensor>,
    /// For each selected layer `[batch, heads, target_length, target_length]`
    pub decoder_attentions: Vec<Tensor>,
    /// For each selected layer `[batch, heads, target_length, source_length]`
    pub cross_attentions: Vec<Tensor>,
}

/// What of a forward pass is read back. What is not costs nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForwardSelection {
    /// `encoder_last_hidden_state`
    pub hidden: bool,
    /// `logits`
    pub logits: bool,
    /// `encoder_hidden_states` and `decoder_hidden_states`
    pub hidden_states: bool,
    /// Layers of the encoder's self-attention.
    pub encoder_attentions: Vec<usize>,
    /// Layers of the decoder's self-attention.
    pub decoder_attentions: Vec<usize>,
    /// Layers of the decoder's attention to the encoder.
    pub cross_attentions: Vec<usize>,
}

impl ForwardSelection {
    /// Everything that a model has.
    pub fn all(config: &ModelConfig) -> Self {
        let layers = |stack: StackConfig| (0..stack.layers).collect::<Vec<_>>();
        let crosses = config.encoder.layers > 0;
        Self {
            hidden: true,
            logits: true,
            hidden_states: true,
            encoder_attentions: layers(config.encoder),
            decoder_attentions: layers(config.decoder),
            cross_attentions: if crosses { layers(config.decoder) } else { Vec::new() },
        }
    }
}
