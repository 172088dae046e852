//! The number of trained values of a configuration.

use serde::Serialize;

use super::{EmbeddingSharing, Mixer, ModelConfig, NormKind, Positions, SelfAttentionKind, StackConfig};

/// Numbers of trained values by part. Tied tensors count once; computed positions do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Parameters {
    /// Embeddings of tokens and token types.
    pub embeddings: u64,
    /// Layers, final norm and trained positions of the encoder.
    pub encoder: u64,
    /// Layers, final norm and trained positions of the decoder.
    pub decoder: u64,
    /// The part of the output projection that is not shared.
    pub output: u64,
}

impl ModelConfig {
    /// Number of trained values. Tied tensors count once; computed positions do not count.
    pub fn parameter_count(&self) -> u64 {
        let Parameters { embeddings, encoder, decoder, output } = self.parameters();
        embeddings + encoder + decoder + output
    }

    /// Numbers of trained values by part.
    pub fn parameters(&self) -> Parameters {
        let d_model = self.d_model as u64;
        let target_vocabulary = self.target_vocabulary as u64;
        let tables = match self.embeddings {
            EmbeddingSharing::Shared => target_vocabulary,
            EmbeddingSharing::Separate => self.source_vocabulary as u64 + target_vocabulary,
        };
        let projection = u64::from(!self.output.tied) * target_vocabulary * d_model;
        let output_bias = u64::from(self.output.bias) * target_vocabulary;
        let transform = u64::from(self.output.transform.is_some())
            * (d_model * d_model + d_model + self.norm_parameters());
        let cross_attentions = u64::from(self.encoder.layers > 0);
        Parameters {
            embeddings: (tables + self.token_types as u64) * d_model,
            encoder: self.block_bias_parameters()
                + self.projection_parameters()
                + self.stack_parameters(
                    &self.encoder,
                    self.source_positions(),
                    self.attention_parameters(&self.encoder) + self.global_parameters(),
                ),
            decoder: self.stack_parameters(
                &self.decoder,
                &self.positions,
                self.mixer_parameters() + cross_attentions * self.attention_parameters(&self.decoder),
            ),
            output: projection + transform + output_bias,
        }
    }

    /// Weights of one attention sublayer, without biases and norm: 4 · d_model² if heads · d_k = heads · d_v = d_model.
    pub fn attention_weights(&self, stack: &StackConfig) -> u64 {
        2 * self.d_model as u64 * (stack.key_width() + stack.value_width()) as u64
    }

    /// Weights of one feed-forward sublayer, without biases and norm: 8 · d_model² if d_ff = 4 · d_model.
    pub fn feed_forward_weights(&self, stack: &StackConfig) -> u64 {
        let maps = if self.gated { 3 } else { 2 };
        maps * self.d_model as u64 * stack.ffn_width as u64
    }

    /// Trained values of one attention sublayer, with biases and norm.
    pub fn attention_parameters(&self, stack: &StackConfig) -> u64 {
        let d_model = self.d_model as u64;
        let (keys, values) = (stack.key_width() as u64, stack.value_width() as u64);
        let biases = u64::from(self.attention_biases) * (2 * keys + values + d_model);
        self.attention_weights(stack) + biases + self.norm_parameters()
    }

    /// Trained values of one feed-forward sublayer, with biases and norm.
    pub fn feed_forward_parameters(&self, stack: &StackConfig) -> u64 {
        let (d_model, ffn_width) = (self.d_model as u64, stack.ffn_width as u64);
        let ups = if self.gated { 2 } else { 1 };
        ups * self.linear_parameters(d_model, ffn_width)
            + self.linear_parameters(ffn_width, d_model)
            + self.norm_parameters()
    }

    /// Trained values of the first block of a decoder layer.
    fn mixer_parameters(&self) -> u64 {
        match self.decoder_mixer {
            Mixer::Attention => self.attention_parameters(&self.decoder),
            Mixer::Ssru => self.recurrent_parameters(),
        }
    }

    /// Trained values of a recurrent unit ([`Mixer::Ssru`]) of `d_model` cells, with biases and norm.
    pub fn recurrent_parameters(&self) -> u64 {
        let d_model = self.d_model as u64;
        2 * d_model * d_model + d_model + self.norm_parameters()
    }

    /// Trained values of the encoder's bias for sums of blocks.
    fn block_bias_parameters(&self) -> u64 {
        match (self.block_tokens, self.positions) {
            (Some(_), Positions::Relative(relative)) => (relative.buckets * self.encoder.heads) as u64,
            _ => 0,
        }
    }

    /// Trained values of the encoder's projections of keys and values along the length.
    fn projection_parameters(&self) -> u64 {
        let ranks: u64 = self
            .encoder_kinds
            .iter()
            .filter_map(SelfAttentionKind::learned_rank)
            .map(|rank| rank as u64)
            .sum();
        match ranks {
            0 => 0,
            ranks => 2 * ranks * self.source_positions().count() as u64,
        }
    }

    /// Trained values of an encoder layer for global tokens and for sums of blocks.
    fn global_parameters(&self) -> u64 {
        let (d_model, stack) = (self.d_model as u64, &self.encoder);
        let of_blocks = u64::from(self.block_tokens.is_some()) * self.norm_parameters();
        let of_tokens = match self.global_projections {
            true => {
                let width = (2 * stack.key_width() + stack.value_width()) as u64;
                width * (d_model + u64::from(self.attention_biases))
            }
            false => 0,
        };
        of_tokens + of_blocks
    }

    /// * `mixing`: trained values of a layer's blocks before the feed-forward network
    fn stack_parameters(&self, stack: &StackConfig, positions: &Positions, mixing: u64) -> u64 {
        if stack.layers == 0 {
            return 0;
        }
        let positions = match *positions {
            Positions::Learned { .. } | Positions::LearnedWithoutPadding { .. } => {
                positions.table_rows() as u64 * self.d_model as u64
            }
            Positions::Relative(relative) => {
                let tables = if relative.of_each_layer { stack.layers } else { 1 };
                (relative.buckets * stack.heads * tables) as u64
            }
            Positions::Sinusoidal { .. } | Positions::SinusoidalWithoutPadding { .. } => 0,
        };
        let norms = u64::from(self.embedding_norm) + u64::from(self.final_norm);
        let layer = mixing + self.feed_forward_parameters(stack);
        positions + norms * self.norm_parameters() + stack.layers as u64 * layer
    }

    fn linear_parameters(&self, inputs: u64, outputs: u64) -> u64 {
        inputs * outputs + u64::from(self.biases) * outputs
    }

    fn norm_parameters(&self) -> u64 {
        self.d_model as u64
            * match self.norm_kind {
                NormKind::Layer | NormKind::Batch => 2,
                NormKind::Rms => 1,
            }
    }
}
