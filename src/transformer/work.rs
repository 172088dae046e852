//! Bytes and operations of a model, counted from its shapes, to compare with measured times.

use super::Transformer;
use crate::model::blueprint::{FeedForward, Norm};
use crate::ops::Linear;

/// Bytes of an element of the caches and of the memory.
const CACHE_ELEMENT_BYTES: u64 = 4;

impl Transformer {
    /// Bytes of stored weights that one step reads: the decoder's layers without the projections of the memory, which
    /// run once a sentence, and the output projection. A step reads one row of embeddings and positions, which do not
    /// count.
    pub fn step_weight_bytes(&self) -> u64 {
        let blueprint = &self.host.blueprint;
        let layers = blueprint.decoder.iter().flat_map(|layer| {
            let cross = layer.cross_attention.as_ref();
            let linears = layer.mixing.linears();
            let linears = linears.chain(cross.into_iter().flat_map(|cross| [cross.query, cross.output]));
            let linears = linears.chain(feed_forward(&layer.feed_forward));
            let norms =
                [Some(layer.mixing.norm()), cross.map(|cross| cross.norm), Some(layer.feed_forward.norm)];
            linears
                .map(|linear| self.linear_bytes(&linear))
                .chain(norms.into_iter().flatten().map(|norm| self.norm_bytes(norm)))
                .collect::<Vec<_>>()
        });
        let ends = [blueprint.decoder_stack.embedding_norm, blueprint.decoder_stack.final_norm];
        let ends = ends.into_iter().flatten().map(|norm| self.norm_bytes(norm));
        let transform = blueprint.output_transform.iter();
        let transform = transform.map(|(linear, norm)| self.linear_bytes(linear) + self.norm_bytes(*norm));
        layers.chain(ends).chain(transform).sum::<u64>() + self.linear_bytes(&blueprint.output)
    }

    /// Bytes of one token's keys and values of self-attention, or of its cells.
    pub fn cache_bytes_per_token(&self) -> u64 {
        let config = &self.host.config;
        config.decoder.layers as u64 * config.cached_width() as u64 * CACHE_ELEMENT_BYTES
    }

    /// Bytes of cross-attention's keys and values of one source token; 0 without an encoder.
    pub fn memory_bytes_per_token(&self) -> u64 {
        let crossing = self.host.blueprint.decoder.iter().filter(|layer| layer.cross_attention.is_some());
        crossing.count() as u64 * self.key_value_bytes()
    }

    /// Operations of the encoder's matrix products and attention for `length` tokens; multiply and add are two.
    pub fn encoder_operations(&self, length: usize) -> u64 {
        let stack = &self.host.config.encoder;
        let length = length as u64;
        let layers = self.host.blueprint.encoder.iter().map(|layer| {
            let linears = [layer.self_attention.qkv, layer.self_attention.output].into_iter();
            let weights: usize = linears
                .chain(feed_forward(&layer.feed_forward))
                .map(|linear| linear.weight.outputs * linear.weight.inputs)
                .sum();
            let attention = length * length * (stack.key_width() + stack.value_width()) as u64;
            2 * (length * weights as u64 + attention)
        });
        layers.sum()
    }

    /// Bytes of one token in one layer.
    fn key_value_bytes(&self) -> u64 {
        let stack = &self.host.config.decoder;
        (stack.key_width() + stack.value_width()) as u64 * CACHE_ELEMENT_BYTES
    }

    fn linear_bytes(&self, linear: &Linear) -> u64 {
        let bias = linear.bias.map_or(0, |bias| self.model().weights.vector_bytes(bias));
        self.model().weights.matrix_bytes(linear.weight) + bias
    }

    fn norm_bytes(&self, norm: Norm) -> u64 {
        let beta = norm.beta.map_or(0, |beta| self.model().weights.vector_bytes(beta));
        self.model().weights.vector_bytes(norm.gamma) + beta
    }
}

fn feed_forward(layer: &FeedForward) -> impl Iterator<Item = Linear> + use<> {
    [Some(layer.up), layer.gate, Some(layer.down)].into_iter().flatten()
}
