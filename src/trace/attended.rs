//! Attention that stays on the device: one head is read at a time, or painted where it is.

use super::budget::Share;
use super::{AttentionKind, LayerAttention, LeftOut, TraceError, TraceOptions, TraceRequest};
use crate::gpu::GpuError;
use crate::graph::Kept;
use crate::heatmap::{GridShape, HeatmapError, Maps, Painter};
use crate::transformer::{KeptAttention, Transformer};

/// The attention of one sentence and its translation, where it was computed.
pub struct Attended {
    layers: Vec<Layer>,
    left_out: Vec<LeftOut>,
}

struct Layer {
    kind: AttentionKind,
    layer: usize,
    heads: usize,
    queries: usize,
    keys: usize,
    weights: Kept,
}

impl Transformer {
    /// Has the device compute the attention of a translation once more, in one pass over all of its tokens, and keep it there.
    /// While nobody asks for it, translating has no trace of it: no buffer, no launch.
    ///
    /// # Errors
    /// [`TraceError`], naming what does not fit the model.
    pub fn attend(&self, request: &TraceRequest, options: &TraceOptions) -> Result<Attended, TraceError> {
        let shares = self.shares(std::slice::from_ref(request), options)?;
        let Share { wanted, left_out } = shares.into_iter().next().unwrap_or_default();
        let input = request.input();
        let KeptAttention { encoder, decoder, cross } = self.keep_attention(&input, &wanted)?;
        let (of_encoder, of_decoder) = (self.config().encoder.heads, self.config().decoder.heads);
        let (source, target) = (input.source_length, input.target_length);
        let kinds = [
            (AttentionKind::Encoder, of_encoder, [source, source], &wanted.encoder_attentions, encoder),
            (AttentionKind::Decoder, of_decoder, [target, target], &wanted.decoder_attentions, decoder),
            (AttentionKind::Cross, of_decoder, [target, source], &wanted.cross_attentions, cross),
        ];
        let layers = kinds.into_iter().flat_map(|(kind, heads, [queries, keys], layers, kept)| {
            let layer = move |(&layer, weights)| Layer { kind, layer, heads, queries, keys, weights };
            layers.iter().zip(kept).map(layer)
        });
        Ok(Attended { layers: layers.collect(), left_out })
    }
}

impl Attended {
    /// What there was no room for.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// The layers of a kind that are there, in order.
    pub fn layers(&self, kind: AttentionKind) -> impl Iterator<Item = usize> {
        self.of(kind).map(|layer| layer.layer)
    }

    fn of(&self, kind: AttentionKind) -> impl Iterator<Item = &Layer> {
        self.layers.iter().filter(move |layer| layer.kind == kind)
    }

    /// Brings one head to the host; `None` where it is not there.
    ///
    /// # Errors
    /// [`GpuError`] of this or an earlier command.
    pub async fn read_head(
        &self,
        kind: AttentionKind,
        layer: usize,
        head: usize,
    ) -> Result<Option<LayerAttention>, GpuError> {
        let Some(found) = self.of(kind).find(|found| found.layer == layer && head < found.heads) else {
            return Ok(None);
        };
        let &Layer { queries, keys, .. } = found;
        let weights = found.weights.read_rows(head * queries..(head + 1) * queries).await?;
        Ok(Some(LayerAttention { kind, layer, heads: 1, queries, keys, weights }))
    }

    /// Brings a whole layer to the host; `None` where it is not there.
    ///
    /// # Errors
    /// [`GpuError`] of this or an earlier command.
    pub async fn read_layer(
        &self,
        kind: AttentionKind,
        layer: usize,
    ) -> Result<Option<LayerAttention>, GpuError> {
        let Some(found) = self.of(kind).find(|found| found.layer == layer) else { return Ok(None) };
        let &Layer { heads, queries, keys, .. } = found;
        let weights = found.weights.read_rows(0..heads * queries).await?;
        Ok(Some(LayerAttention { kind, layer, heads, queries, keys, weights }))
    }

    /// All heads of a kind as a grid to be painted; on the device that has them, nothing is moved.
    ///
    /// # Errors
    /// [`HeatmapError`]: none of them is there, or there is no room for the picture.
    pub async fn maps(&self, painter: &Painter, kind: AttentionKind) -> Result<Maps, HeatmapError> {
        let layers: Vec<&Layer> = self.of(kind).collect();
        let &Layer { heads, queries, keys, .. } = *layers.first().ok_or(HeatmapError::Empty)?;
        let shape = GridShape { layers: layers.len(), heads, queries, keys };
        let weights: Vec<&Kept> = layers.iter().map(|layer| &layer.weights).collect();
        painter.take(shape, &weights).await
    }
}
