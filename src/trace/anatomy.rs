use serde::{Deserialize, Serialize};

use crate::model::AttentionKind;
use crate::model::config::{AttentionScale, ModelConfig, NormKind, NormPlacement, Positions, StackConfig};

/// Largest size of a part, above any model's.
const LARGEST: usize = 1 << 24;

/// The parts and sizes of a model: what its tapped numbers need to be explained without it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Anatomy {
    /// Width of every hidden state.
    pub d_model: usize,
    /// Tokens of the target vocabulary.
    pub vocabulary: usize,
    /// The encoder.
    pub encoder: StackConfig,
    /// The decoder.
    pub decoder: StackConfig,
    /// Factor of token embeddings.
    pub embedding_scale: f32,
    /// Whether a norm follows the embeddings.
    pub embedding_norm: bool,
    /// Whether the decoder's first position has no token embedding.
    pub zero_start: bool,
    /// Whether positions are a bias of scores by distance.
    pub relative_positions: bool,
    /// The same of the encoder's, which may differ.
    pub relative_source_positions: bool,
    /// Kind of the norms.
    pub norm: NormKind,
    /// Whether norms stand before the blocks.
    pub norm_first: bool,
    /// Whether a norm follows the last layer.
    pub final_norm: bool,
    /// Whether the feed-forward network is gated.
    pub gated: bool,
    /// Whether q·k is divided by √d_k.
    pub divided_by_width: bool,
    /// Whether q·k is divided by the layer's number, from 1.
    pub divided_by_layer: bool,
}

impl Anatomy {
    /// The parts and sizes of a model.
    pub fn of(config: &ModelConfig) -> Self {
        let is_relative = |positions: &Positions| matches!(positions, Positions::Relative(_));
        Self {
            d_model: config.d_model,
            vocabulary: config.target_vocabulary,
            encoder: config.encoder,
            decoder: config.decoder,
            embedding_scale: config.embedding_scale,
            embedding_norm: config.embedding_norm,
            zero_start: config.zero_start,
            relative_positions: is_relative(&config.positions),
            relative_source_positions: is_relative(config.source_positions()),
            norm: config.norm_kind,
            norm_first: config.norm == NormPlacement::Pre,
            final_norm: config.final_norm,
            gated: config.gated,
            divided_by_width: config.attention_scale.by_width,
            divided_by_layer: config.attention_scale.by_layer,
        }
    }

    /// The stack that has a kind of attention.
    pub fn stack(&self, kind: AttentionKind) -> &StackConfig {
        if kind == AttentionKind::Encoder { &self.encoder } else { &self.decoder }
    }

    /// Factor of q·k in a layer, counted from 0.
    pub fn score_factor(&self, kind: AttentionKind, layer: usize) -> f32 {
        let scale = AttentionScale { by_width: self.divided_by_width, by_layer: self.divided_by_layer };
        scale.factor(self.stack(kind).d_k, layer)
    }

    /// Whether the sizes are those of a possible model. A file may be untrusted.
    pub(super) fn is_sound(&self) -> bool {
        let of_stack = |stack: &StackConfig| {
            let &StackConfig { layers, heads, d_k, d_v, ffn_width } = stack;
            layers == 0
                || [layers, heads, d_k, d_v, ffn_width].iter().all(|size| (1..=LARGEST).contains(size))
        };
        [self.d_model, self.vocabulary].iter().all(|size| (1..=LARGEST).contains(size))
            && [&self.encoder, &self.decoder].into_iter().all(of_stack)
            && self.embedding_scale.is_finite()
    }
}
