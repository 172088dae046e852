use wordloom::heatmap::ColourMap;
use wordloom::trace::{AttentionKind, LayerAttention, TracedSentence};
use wordloom_viewer::{harmless, name};

pub struct Picture {
    pub title: String,
    pub queries: Vec<String>,
    pub keys: Vec<String>,
    /// `[queries, keys]`
    pub weights: Vec<f32>,
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
        let (weights, which) = match head {
            Some(head) if head >= attention.heads => return None,
            Some(head) => (attention.head(head).weights.to_vec(), format!("head {head}")),
            None => (attention.mean(), format!("mean of {} heads", attention.heads)),
        };
        Some(Self {
            title: format!("{}, layer {}, {which}", name(kind), attention.layer),
            queries: labels(sentence.query_labels(kind)),
            keys: labels(sentence.key_labels(kind)),
            weights,
        })
    }

    pub fn largest(&self) -> f32 {
        self.weights.iter().copied().fold(0.0, f32::max)
    }

    pub fn layer(&self) -> LayerAttention {
        LayerAttention {
            kind: AttentionKind::Cross,
            layer: 0,
            heads: 1,
            queries: self.queries.len(),
            keys: self.keys.len(),
            weights: self.weights.clone(),
        }
    }

    pub fn rows(&self) -> impl Iterator<Item = &[f32]> {
        self.weights.chunks_exact(self.keys.len().max(1))
    }
}

/// Makes labels of untrusted text safe: control characters and direction marks become `�`, and the length is limited.
fn labels(labels: Vec<String>) -> Vec<String> {
    labels.iter().map(|label| harmless(label, 40)).collect()
}

pub fn colour(value: f32) -> [u8; 3] {
    ColourMap::default().colour(value)
}
