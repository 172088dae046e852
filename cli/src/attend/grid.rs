use wordloom::trace::{AttentionKind, LayerAttention, TracedSentence};

use super::png::{pixels_of, side};

/// All heads of a kind: layers are rows, heads are columns.
pub struct Grid<'a> {
    pub layers: Vec<&'a LayerAttention>,
    pub heads: usize,
    /// Pixels of a map's cell.
    pub cell: f32,
    pub width: usize,
    pub height: usize,
}

/// Pixels between maps.
pub const GAP: usize = 6;

impl<'a> Grid<'a> {
    /// `None` if the trace lacks this kind.
    pub fn new(sentence: &'a TracedSentence, kind: AttentionKind) -> Option<Self> {
        let layers: Vec<&LayerAttention> = sentence.layers(kind).collect();
        let first = layers.first()?;
        let heads = layers.iter().map(|layer| layer.heads).max()?;
        let keys = layers.iter().map(|layer| layer.columns()).max()?;
        let cell = side(keys.max(first.queries), [120, 120, 512]);
        let [width, height] = [keys, first.queries].map(|cells| pixels_of(cells, cell));
        Some(Self { heads, cell, width, height, layers })
    }
}
