//! Attention maps on the host.

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
    /// `[heads, queries, keys]`; a row sums to 1.
    pub weights: Vec<f32>,
}

impl LayerAttention {
    /// A head, `[queries, keys]`. Panics if it does not exist.
    pub fn head(&self, head: usize) -> Map<'_> {
        let size = self.queries * self.keys;
        Map { queries: self.queries, keys: self.keys, weights: &self.weights[head * size..][..size] }
    }

    /// A head as a layer of its own. Panics if it does not exist.
    pub fn only(&self, head: usize) -> Self {
        Self { heads: 1, weights: self.head(head).weights.to_vec(), ..*self }
    }

    /// The mean of all heads, as a layer of one head.
    pub fn averaged(&self) -> Self {
        Self { heads: 1, weights: self.mean(), ..*self }
    }

    /// The mean of all heads, `[queries, keys]`.
    pub fn mean(&self) -> Vec<f32> {
        let size = self.queries * self.keys;
        let mut mean = vec![0.0; size];
        for head in self.weights.chunks_exact(size.max(1)) {
            mean.iter_mut().zip(head).for_each(|(sum, weight)| *sum += weight);
        }
        mean.iter_mut().for_each(|sum| *sum /= self.heads as f32);
        mean
    }
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
