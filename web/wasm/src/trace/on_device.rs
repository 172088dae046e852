//! Attention in GPU memory: painted there, and read back only for numbers and files.

use std::cell::RefCell;

use wordloom::heatmap::{GridShape, HeatmapError, Maps, Painter, Pixels, View};
use wordloom::trace::{AttentionKind, KeptAttention, LayerAttention};

use super::which::{Pick, Which};
use crate::failure::Failure;

/// The attention of a trace's sentences. Dropping it frees the buffers.
pub struct OnDevice {
    sentences: Vec<KeptAttention>,
    painter: Painter,
    /// The maps that were painted last. Another view of them reuses the buffers and the largest weights.
    painted: RefCell<Option<Painted>>,
}

/// The painted part of a kind's maps.
#[derive(Clone, Copy, PartialEq)]
pub enum Part {
    /// All maps, side by side.
    Grid,
    /// One map.
    Head { layer: usize, head: usize },
}

/// The maps of one kind.
struct Painted {
    sentence: usize,
    kind: AttentionKind,
    /// Rows of the grid.
    layers: Vec<usize>,
    grid: Maps,
    head: Option<(Part, Maps)>,
}

impl OnDevice {
    pub fn new(sentences: Vec<KeptAttention>, painter: Painter) -> Self {
        Self { sentences, painter, painted: RefCell::default() }
    }

    /// The layers of a kind, in order, and the shape of their grid.
    pub fn layers(&self, sentence: usize, kind: AttentionKind) -> Option<(Vec<usize>, GridShape)> {
        let attention = self.sentences.get(sentence)?;
        Some((attention.layers(kind).collect(), attention.shape(kind)?))
    }

    /// One head of a layer, or the mean of all; `None` if they are not stored.
    pub async fn map(&self, which: Which, layer: usize) -> Result<Option<LayerAttention>, Failure> {
        let Some(attention) = self.sentences.get(which.sentence) else { return Ok(None) };
        Ok(match which.head {
            Pick::Index(head) => attention.read_head(which.kind, layer, head).await?,
            _ => attention.read_layer(which.kind, layer).await?.map(|found| found.averaged()),
        })
    }

    /// All weights of a sentence, for a file.
    pub async fn read(&self, sentence: usize) -> Result<Vec<LayerAttention>, Failure> {
        match self.sentences.get(sentence) {
            Some(attention) => Ok(attention.read().await?),
            None => Ok(Vec::new()),
        }
    }

    /// Paints maps of a kind. Concurrent calls are correct, but share no buffers.
    pub async fn paint(
        &self,
        sentence: usize,
        kind: AttentionKind,
        part: Part,
        view: &View,
    ) -> Result<Pixels, HeatmapError> {
        let known = self.painted.take().filter(|known| (known.sentence, known.kind) == (sentence, kind));
        let mut painted = match (known, self.sentences.get(sentence)) {
            (Some(known), _) => known,
            (None, Some(attention)) => {
                let grid = attention.maps(&self.painter, kind).await?;
                Painted { sentence, kind, layers: attention.layers(kind).collect(), grid, head: None }
            }
            (None, None) => return Err(HeatmapError::Empty),
        };
        let pixels = self.painter.paint(painted.maps(part)?, view).await?;
        self.painted.replace(Some(painted));
        Ok(pixels)
    }
}

impl Painted {
    fn maps(&mut self, part: Part) -> Result<&mut Maps, HeatmapError> {
        let Part::Head { layer, head } = part else { return Ok(&mut self.grid) };
        if self.head.as_ref().is_none_or(|(known, _)| *known != part) {
            self.head = None; // frees its memory before allocating more
        }
        match &mut self.head {
            Some((_, maps)) => Ok(maps),
            none => {
                let row = self.layers.iter().position(|own| *own == layer).ok_or(HeatmapError::Empty)?;
                Ok(&mut none.insert((part, self.grid.only(row, head)?)).1)
            }
        }
    }
}
