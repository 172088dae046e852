use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::gpu::GpuError;
use crate::graph::DeviceTensor;
use crate::heatmap::{GridShape, HeatmapError, Maps, Painter};
use crate::model::{AttentionKind, BandLayout, Bands, LayerAttention};

/// Attention of one sentence and its translation on a device. Only clones, which share memory, are equal.
#[derive(Clone)]
pub struct KeptAttention {
    /// Layers by kind, then by index.
    layers: Arc<[KeptLayer]>,
    left_out: Vec<LeftOut>,
}

#[derive(Clone)]
pub(super) struct KeptLayer {
    kind: AttentionKind,
    layer: usize,
    heads: usize,
    queries: usize,
    keys: usize,
    weights: DeviceTensor,
    bands: Option<KeptBands>,
}

#[derive(Clone)]
struct KeptBands {
    layout: BandLayout,
    /// `[heads * global queries, keys]`, if there are global queries.
    global_weights: Option<DeviceTensor>,
}

/// A layer of attention without room, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Kind and layer; `None`: the alternatives to the target's tokens.
    pub attention: Option<(AttentionKind, usize)>,
    /// Bytes that it would take.
    pub bytes: u64,
    /// Reason as a sentence for users.
    pub reason: String,
}

impl KeptLayer {
    /// * `weights`: `[heads * queries, keys]`
    pub fn new(kind: AttentionKind, layer: usize, heads: usize, weights: DeviceTensor) -> Self {
        let shape = weights.shape();
        Self { kind, layer, heads, queries: shape.rows / heads, keys: shape.width, weights, bands: None }
    }

    /// An encoder layer with bands.
    ///
    /// * `weights`: `[heads * queries, room for side keys + band]`; `global_weights`: `[heads * global queries, keys]`, also
    ///   with room for more global queries
    pub fn banded(
        layer: usize,
        heads: usize,
        weights: DeviceTensor,
        layout: BandLayout,
        global_weights: Option<DeviceTensor>,
    ) -> Self {
        let bands = Some(KeptBands { layout, global_weights });
        let own = Self::new(AttentionKind::Encoder, layer, heads, weights);
        Self { keys: own.queries, bands, ..own }
    }

    async fn read(&self, heads: std::ops::Range<usize>) -> Result<LayerAttention, GpuError> {
        let &Self { kind, layer, queries, keys, .. } = self;
        let mut weights = self.weights.read_rows(heads.start * queries..heads.end * queries).await?;
        let mut bands = None;
        if let Some(KeptBands { layout, global_weights }) = &self.bands {
            weights = without_room(weights, self.weights.shape().width, layout);
            let mut of_globals = Vec::new();
            if let Some(tensor) = global_weights {
                let (room, globals) = (tensor.shape().rows / self.heads, layout.global_queries.len());
                for head in heads.clone() {
                    of_globals.extend(tensor.read_rows(head * room..head * room + globals).await?);
                }
            }
            bands = Some(Bands { layout: layout.clone(), global_weights: of_globals });
        }
        let read = LayerAttention { kind, layer, heads: heads.len(), queries, keys, weights, bands };
        Ok(read.tightened())
    }

    /// Its place among the layers of a sentence.
    pub fn place(&self) -> (AttentionKind, usize) {
        (self.kind, self.layer)
    }

    /// Columns of the whole matrix.
    fn columns(&self) -> usize {
        self.keys + self.bands.as_ref().map_or(0, |bands| bands.layout.sums())
    }
}

/// Drops the columns between the side keys and the band that have no side key.
pub(crate) fn without_room(mut weights: Vec<f32>, width: usize, layout: &BandLayout) -> Vec<f32> {
    let (sides, band) = (layout.sides(), layout.band.width());
    if width == sides + band {
        return weights;
    }
    let rows = weights.len() / width;
    for row in 0..rows {
        let to = row * (sides + band);
        weights.copy_within(row * width..row * width + sides, to);
        weights.copy_within((row + 1) * width - band..(row + 1) * width, to + sides);
    }
    weights.truncate(rows * (sides + band));
    weights
}

impl KeptAttention {
    pub(super) fn new(layers: Vec<KeptLayer>, left_out: Vec<LeftOut>) -> Self {
        Self { layers: layers.into(), left_out }
    }

    /// The layers alone.
    pub(super) fn into_layers(self) -> Vec<KeptLayer> {
        self.layers.to_vec()
    }

    /// Layers without room.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Size in bytes; a device may pad rows.
    pub fn bytes(&self) -> u64 {
        let of_layer = |layer: &KeptLayer| {
            let globals = layer.bands.as_ref().and_then(|bands| bands.global_weights.as_ref());
            let tensors = [&layer.weights].into_iter().chain(globals);
            tensors.map(|tensor| 4 * tensor.shape().elements() as u64).sum::<u64>()
        };
        self.layers.iter().map(of_layer).sum()
    }

    /// Kept layers of a kind, in order.
    pub fn layers(&self, kind: AttentionKind) -> impl Iterator<Item = usize> {
        self.of(kind).map(|layer| layer.layer)
    }

    /// Size of the grid of a kind's layers and heads; `None` if no layer is kept.
    pub fn shape(&self, kind: AttentionKind) -> Option<GridShape> {
        let &KeptLayer { heads, queries, .. } = self.of(kind).next()?;
        let keys = self.of(kind).map(KeptLayer::columns).max()?;
        Some(GridShape { layers: self.of(kind).count(), heads, queries, keys })
    }

    fn of(&self, kind: AttentionKind) -> impl Iterator<Item = &KeptLayer> {
        self.layers.iter().filter(move |layer| layer.kind == kind)
    }

    /// Reads one head; `None` if it is not kept.
    pub async fn read_head(
        &self,
        kind: AttentionKind,
        layer: usize,
        head: usize,
    ) -> Result<Option<LayerAttention>, GpuError> {
        match self.of(kind).find(|kept| kept.layer == layer && head < kept.heads) {
            Some(kept) => Ok(Some(kept.read(head..head + 1).await?)),
            None => Ok(None),
        }
    }

    /// Reads a layer; `None` if it is not kept.
    pub async fn read_layer(
        &self,
        kind: AttentionKind,
        layer: usize,
    ) -> Result<Option<LayerAttention>, GpuError> {
        match self.of(kind).find(|kept| kept.layer == layer) {
            Some(kept) => Ok(Some(kept.read(0..kept.heads).await?)),
            None => Ok(None),
        }
    }

    /// Reads all layers, by kind, then by index.
    pub async fn read(&self) -> Result<Vec<LayerAttention>, GpuError> {
        let mut layers = Vec::with_capacity(self.layers.len());
        for layer in &*self.layers {
            layers.push(layer.read(0..layer.heads).await?);
        }
        Ok(layers)
    }

    /// All heads of a kind as a grid to be painted on the device that has them; bands are read and painted on the host.
    pub async fn maps(&self, painter: &Painter, kind: AttentionKind) -> Result<Maps, HeatmapError> {
        let shape = self.shape(kind).ok_or(HeatmapError::Empty)?;
        if self.of(kind).any(|layer| layer.bands.is_some()) {
            let mut layers = Vec::new();
            for layer in self.of(kind) {
                layers.push(layer.read(0..layer.heads).await?);
            }
            return painter.load(&layers.iter().collect::<Vec<_>>());
        }
        let weights: Vec<&DeviceTensor> = self.of(kind).map(|layer| &layer.weights).collect();
        painter.take(shape, &weights).await
    }
}

impl PartialEq for KeptAttention {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.layers, &other.layers)
    }
}

impl fmt::Debug for KeptAttention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layers: Vec<_> = self.layers.iter().map(|layer| (layer.kind, layer.layer)).collect();
        f.debug_struct("KeptAttention").field("layers", &layers).finish_non_exhaustive()
    }
}
