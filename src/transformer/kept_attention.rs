use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::gpu::GpuError;
use crate::graph::DeviceTensor;
use crate::heatmap::{GridShape, HeatmapError, Maps, Painter};
use crate::model::{AttentionKind, LayerAttention};

/// Attention of one sentence and its translation on a device. Only clones, which share memory, are equal.
#[derive(Clone)]
pub struct KeptAttention {
    /// Layers by kind, then by index.
    layers: Arc<[KeptLayer]>,
    left_out: Vec<LeftOut>,
}

pub(super) struct KeptLayer {
    kind: AttentionKind,
    layer: usize,
    heads: usize,
    queries: usize,
    keys: usize,
    weights: DeviceTensor,
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
        Self { kind, layer, heads, queries: shape.rows / heads, keys: shape.width, weights }
    }

    async fn read(&self, heads: std::ops::Range<usize>) -> Result<LayerAttention, GpuError> {
        let &Self { kind, layer, queries, keys, .. } = self;
        let weights = self.weights.read_rows(heads.start * queries..heads.end * queries).await?;
        Ok(LayerAttention { kind, layer, heads: heads.len(), queries, keys, weights })
    }
}

impl KeptAttention {
    pub(super) fn new(layers: Vec<KeptLayer>, left_out: Vec<LeftOut>) -> Self {
        Self { layers: layers.into(), left_out }
    }

    /// Layers without room.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Size in bytes; a device may pad rows.
    pub fn bytes(&self) -> u64 {
        let of_layer = |layer: &KeptLayer| 4 * (layer.heads * layer.queries * layer.keys) as u64;
        self.layers.iter().map(of_layer).sum()
    }

    /// Kept layers of a kind, in order.
    pub fn layers(&self, kind: AttentionKind) -> impl Iterator<Item = usize> {
        self.of(kind).map(|layer| layer.layer)
    }

    /// Size of the grid of a kind's layers and heads; `None` if no layer is kept.
    pub fn shape(&self, kind: AttentionKind) -> Option<GridShape> {
        let &KeptLayer { heads, queries, keys, .. } = self.of(kind).next()?;
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

    /// All heads of a kind as a grid to be painted on the device that has them.
    pub async fn maps(&self, painter: &Painter, kind: AttentionKind) -> Result<Maps, HeatmapError> {
        let shape = self.shape(kind).ok_or(HeatmapError::Empty)?;
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
