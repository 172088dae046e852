use std::borrow::Cow;

use wordloom::heatmap::ColourMap;
use wordloom::trace::{AttentionKind, LayerAttention, TracedSentence};
use wordloom_viewer::{harmless, name};

pub struct Picture {
    pub title: String,
    pub queries: Vec<String>,
    pub keys: Vec<String>,
    /// One head.
    pub map: LayerAttention,
    pub largest: f32,
}

impl Picture {
    /// The map of a head (default: the mean of all) in a layer (default: the last).
    pub fn new(
        sentence: &TracedSentence,
        kind: AttentionKind,
        layer: Option<usize>,
        head: Option<usize>,
    ) -> Option<Self> {
        let attention = match layer {
            Some(layer) => sentence.layer(kind, layer)?,
            None => sentence.layers(kind).next_back()?,
        };
        let (map, which) = match head {
            Some(head) if head >= attention.heads => return None,
            Some(head) => (attention.only(head), format!("head {head}")),
            None => (attention.averaged(), format!("mean of {} heads", attention.heads)),
        };
        let mut keys = labels(sentence.column_labels(kind));
        keys.truncate(map.columns()); // another layer may have sums of blocks
        let mut largest = 0.0f32;
        for query in 0..map.queries {
            map.for_each_seen(0, query, |_, weight| largest = largest.max(weight));
        }
        Some(Self {
            title: format!("{}, layer {}, {which}", name(kind), attention.layer),
            queries: labels(sentence.query_labels(kind)),
            keys,
            map,
            largest,
        })
    }

    /// Number of cells, those included that no query sees.
    pub fn cells(&self) -> usize {
        self.queries.len().saturating_mul(self.keys.len())
    }

    pub fn rows(&self) -> impl Iterator<Item = Cow<'_, [f32]>> {
        (0..self.map.queries).map(|query| self.map.row(0, query))
    }

    /// The largest weights of blocks of `size` x `size` cells, row by row.
    pub fn blocks(&self, size: usize) -> Vec<Vec<f32>> {
        let mut blocks =
            vec![vec![0.0f32; self.keys.len().div_ceil(size)]; self.queries.len().div_ceil(size)];
        for query in 0..self.map.queries {
            let row = &mut blocks[query / size];
            self.map.for_each_seen(0, query, |column, weight| {
                row[column / size] = row[column / size].max(weight);
            });
        }
        blocks
    }
}

/// Makes labels of untrusted text safe: control characters and direction marks become `�`, and the length is limited.
fn labels(labels: Vec<String>) -> Vec<String> {
    labels.iter().map(|label| harmless(label, 40)).collect()
}

pub fn colour(value: f32) -> [u8; 3] {
    ColourMap::default().colour(value)
}
