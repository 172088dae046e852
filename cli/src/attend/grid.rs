use wordloom::trace::{AttentionKind, LayerAttention, TracedSentence};

/// All heads of a kind: layers are rows, heads are columns.
pub struct Grid<'a> {
    pub layers: Vec<&'a LayerAttention>,
    pub heads: usize,
    /// Pixels of a map's cell.
    pub cell: usize,
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
        let cell = (120 / first.keys.max(first.queries).max(1)).max(1);
        Some(Self { heads, cell, width: cell * first.keys, height: cell * first.queries, layers })
    }
}
