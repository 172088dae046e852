//! Attention maps on the host.

use super::bands::Bands;
use super::head::AttentionKind;

/// The attention of one layer.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerAttention {
    /// The kind of attention.
    pub kind: AttentionKind,
    /// Number of the layer, from 0.
    pub layer: usize,
    /// Number of heads.
    pub heads: usize,
    /// Number of queries: rows of a head.
    pub queries: usize,
    /// Number of keys: columns of a head.
    pub keys: usize,
    /// `[heads, queries, keys]`; a row sums to 1. With bands `[heads, queries, side keys + band]`.
    pub weights: Vec<f32>,
    /// The places of the weights, if the layer's tokens see a band of keys.
    pub bands: Option<Bands>,
}

impl LayerAttention {
    /// A head, `[queries, keys]`. Panics if it does not exist, or if the layer has bands.
    pub fn head(&self, head: usize) -> Map<'_> {
        assert!(self.bands.is_none(), "a matrix");
        let size = self.queries * self.keys;
        Map { queries: self.queries, keys: self.keys, weights: &self.weights[head * size..][..size] }
    }

    /// A head as a layer of its own. Panics if it does not exist.
    pub fn only(&self, head: usize) -> Self {
        let part = |weights: &[f32]| {
            let size = weights.len() / self.heads;
            weights[head * size..][..size].to_vec()
        };
        let bands = self.bands.as_ref();
        let bands = bands.map(|bands| Bands { global_weights: part(&bands.global_weights), ..bands.clone() });
        Self { heads: 1, weights: part(&self.weights), bands, ..*self }
    }

    /// The mean of all heads, as a layer of one head.
    pub fn averaged(&self) -> Self {
        let bands = self.bands.as_ref().map(|Bands { layout, global_weights }| Bands {
            layout: layout.clone(),
            global_weights: mean(global_weights, self.heads),
        });
        Self { heads: 1, weights: self.mean(), bands, ..*self }
    }

    /// The mean of all heads, `[queries, keys]`; with bands `[queries, side keys + band]`.
    pub fn mean(&self) -> Vec<f32> {
        mean(&self.weights, self.heads)
    }
}

fn mean(weights: &[f32], heads: usize) -> Vec<f32> {
    let size = weights.len() / heads.max(1);
    let mut mean = vec![0.0; size];
    for head in weights.chunks_exact(size.max(1)) {
        mean.iter_mut().zip(head).for_each(|(sum, weight)| *sum += weight);
    }
    mean.iter_mut().for_each(|sum| *sum /= heads as f32);
    mean
}

/// An attention map.
#[derive(Clone, Copy, Debug)]
pub struct Map<'a> {
    /// Number of rows.
    pub queries: usize,
    /// Number of columns.
    pub keys: usize,
    /// `[queries, keys]`
    pub weights: &'a [f32],
}

impl<'a> Map<'a> {
    /// Rows of the map.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &'a [f32]> + use<'a> {
        self.weights.chunks_exact(self.keys.max(1))
    }
}
