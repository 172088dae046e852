//! The residual stream after each layer: do tokens stay different? Dong et al. 2021, "Attention Is Not All You Need:
//! Pure Attention Loses Rank Doubly Exponentially with Depth".

use serde::{Deserialize, Serialize};

use super::spectrum::Spectrum;
use super::statistics::is_small;
use super::{AttentionKind, Map, TracedSentence};
use crate::transformer::Tensor;

/// The residual stream at one depth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Depth {
    /// Stack of the stream.
    pub stack: Stack,
    /// Number of layers before; 0: the embeddings.
    pub layer: usize,
    /// Fewest components that hold 90 % of the variance of `[tokens, d_model]`, the mean included. `None` in traces of older
    /// versions, which counted singular values above rounding.
    #[serde(default)]
    pub components: Option<usize>,
    /// Largest possible number of components: the shorter side.
    pub full_rank: usize,
    /// Difference of the tokens from their mean x̄: `‖X − 1x̄‖ / ‖X‖` in the Frobenius norm. 0: all tokens are equal,
    /// which is rank collapse.
    pub spread: f64,
}

/// A stack of layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stack {
    /// Reads the source.
    Encoder,
    /// Reads the target so far.
    Decoder,
}

impl Stack {
    /// `"encoder"` or `"decoder"`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Encoder => "encoder",
            Self::Decoder => "decoder",
        }
    }
}

impl Depth {
    /// Measures hidden states `[tokens, width]`.
    pub fn of(stack: Stack, layer: usize, states: Map<'_>) -> Self {
        let (rows, width) = (states.queries, states.keys);
        let mut mean = vec![0.0f64; width];
        for row in states.rows() {
            mean.iter_mut().zip(row).for_each(|(mean, &x)| *mean += f64::from(x) / rows as f64);
        }
        let (mut apart, mut whole) = (0.0, 0.0);
        for row in states.rows() {
            for (&x, mean) in row.iter().zip(&mean) {
                whole += f64::from(x).powi(2);
                apart += (f64::from(x) - mean).powi(2);
            }
        }
        let spread = if whole > 0.0 { (apart / whole).sqrt() } else { 0.0 };
        let components = Some(Spectrum::of(states).components_for_most());
        Self { stack, layer, components, full_rank: rows.min(width), spread }
    }

    /// Measures all hidden states of a stack, `[1, tokens, d_model]` each.
    pub(super) fn of_all(stack: Stack, states: &[Tensor]) -> impl Iterator<Item = Self> {
        states.iter().enumerate().map(move |(layer, tensor)| {
            let width = tensor.shape.last().copied().unwrap_or(0);
            let queries = tensor.data.len().checked_div(width).unwrap_or(0);
            Self::of(stack, layer, Map { queries, keys: width, weights: &tensor.data })
        })
    }
}

/// All heads of a layer together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CombinedHeads {
    /// Kind of attention.
    pub kind: AttentionKind,
    /// Index of the layer.
    pub layer: usize,
    /// Fewest components that hold 90 % of the variance of the heads' maps side by side, `[queries, heads * keys]`.
    pub components: usize,
    /// Largest possible number of components.
    pub full_rank: usize,
}

impl TracedSentence {
    /// The heads of each kept layer together, if the layer is small enough.
    pub fn combined_heads(&self) -> Vec<CombinedHeads> {
        let of_layer = |layer: &super::LayerAttention| {
            let (heads, queries, columns) = (layer.heads, layer.queries, layer.columns());
            if !is_small([queries, heads * columns]) {
                return None;
            }
            let mut side_by_side = Vec::with_capacity(queries * heads * columns);
            for query in 0..queries {
                (0..heads).for_each(|head| side_by_side.extend_from_slice(&layer.row(head, query)));
            }
            let map = Map { queries, keys: heads * columns, weights: &side_by_side };
            let full_rank = queries.min(heads * columns);
            let components = Spectrum::of(map).components_for_most();
            Some(CombinedHeads { kind: layer.kind, layer: layer.layer, components, full_rank })
        };
        self.attention.iter().filter_map(of_layer).collect()
    }
}
