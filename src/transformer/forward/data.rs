use std::collections::BTreeMap;

use crate::model::AttentionKind;
use crate::model::config::ModelConfig;

/// A batch of texts, padded to common lengths: sources and targets; in models of one stack only `input_ids`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForwardInput {
    /// Number of sentences.
    pub batch: usize,
    /// Tokens of each source, padding included.
    pub source_length: usize,
    /// Tokens of each target; 0 in models of one stack.
    pub target_length: usize,
    /// `[batch, source_length]`, input of the encoder, or of a decoder-only model.
    pub input_ids: Vec<u32>,
    /// `[batch, source_length]`, 1 for a token, 0 for padding.
    pub attention_mask: Vec<u32>,
    /// `[batch, source_length]`, 1 for tokens that see all tokens and are seen by all, else 0. Only for models whose
    /// requests name them (LED). Empty: none.
    pub global_attention_mask: Vec<u32>,
    /// `[batch, source_length]`, token types (BERT's segments). Empty: type 0 everywhere.
    pub token_type_ids: Vec<u32>,
    /// `[batch, target_length]`, beginning with the decoder's start token; empty in models of one stack.
    pub decoder_input_ids: Vec<u32>,
}

impl ForwardInput {
    /// The global tokens of each sentence; empty if the input names none.
    pub(super) fn requested_globals(&self) -> Vec<Vec<usize>> {
        let masks = self.global_attention_mask.chunks(self.source_length.max(1));
        masks.map(|mask| (0..mask.len()).filter(|&token| mask[token] != 0).collect()).collect()
    }
}

/// A host tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Sizes, outermost first.
    pub shape: Vec<usize>,
    /// Elements, row-major.
    pub data: Vec<f32>,
}

/// Results of a forward pass, named as in Hugging Face's `Seq2SeqLMOutput`; empty if the model lacks the stack.
#[derive(Clone, Debug, PartialEq)]
pub struct ForwardOutput {
    /// `[batch, source_length, d_model]`
    pub encoder_last_hidden_state: Tensor,
    /// `[batch, target_length, target_vocabulary]`; in models of one stack `[batch, source_length, …]`
    pub logits: Tensor,
    /// The embeddings and the output of each layer, `[batch, source_length, d_model]`. The last is after the final
    /// norm, as in Hugging Face's classes (exception: [`ModelConfig::last_hidden_is_normed`]).
    pub encoder_hidden_states: Vec<Tensor>,
    /// As the encoder's, `[batch, target_length, d_model]`
    pub decoder_hidden_states: Vec<Tensor>,
    /// For each selected layer `[batch, heads, source_length, source_length]`. With windows of `radius` neighbours, as in
    /// Hugging Face's LED, `[batch, heads, source_length, globals + 2 * radius + 1]`: the weights of the sentence's global
    /// tokens, then those of the window, whose column j is token `query - radius + j`; the radius is at most the length.
    /// Rows of global tokens are what they would see without being global. LongT5's sums of blocks stand where LED's
    /// global tokens do. With blocks `[batch, heads, source_length, 5 * size]`: the weights of the first block's tokens and
    /// of the last one's, without masked ones, then those of the band, whose column j is the j-th token from the beginning
    /// of the block before the query's. Texts of few blocks have matrices.
    pub encoder_attentions: Vec<Tensor>,
    /// For each selected layer with windows and global tokens, or with blocks, `[batch, heads, globals, source_length]`: what
    /// each global token of a sentence sees, or each token of the first and of the last block. Rows beyond a sentence's number of global tokens have no meaning.
    pub encoder_global_attentions: Vec<Tensor>,
    /// For each selected layer `[batch, heads, target_length, target_length]`
    pub decoder_attentions: Vec<Tensor>,
    /// For each selected layer `[batch, heads, target_length, source_length]`
    pub cross_attentions: Vec<Tensor>,
    /// Tapped tensors by name; see [`ForwardSelection::taps`].
    pub taps: BTreeMap<String, Tensor>,
}

/// Results of a forward pass to read back. Others cost nothing.
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
    /// Layers of cross-attention.
    pub cross_attentions: Vec<usize>,
    /// Names of [taps](crate::transformer::taps), `decoder.3.cross.scores` for example; in a name `*` stands for any
    /// characters.
    pub taps: Vec<String>,
}

impl ForwardSelection {
    /// Selects all results of a model.
    pub fn all(config: &ModelConfig) -> Self {
        let layers = |kind| (0..config.attention_layers(kind)).collect::<Vec<_>>();
        Self {
            hidden: true,
            logits: true,
            hidden_states: true,
            encoder_attentions: layers(AttentionKind::Encoder),
            decoder_attentions: layers(AttentionKind::Decoder),
            cross_attentions: layers(AttentionKind::Cross),
            taps: Vec::new(),
        }
    }
}
