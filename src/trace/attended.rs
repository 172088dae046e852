//! Attention that stays on the device: one head is read at a time, or painted where it is.

use super::budget::{Share, share};
use super::{AttentionKind, LayerAttention, LeftOut, Trace, TraceError, TraceOptions, TraceRequest};
use crate::decode::Hypothesis;
use crate::gpu::GpuError;
use crate::graph::Kept;
use crate::heatmap::{GridShape, HeatmapError, Maps, Painter};
use crate::transformer::{Cancel, GenerateRequest, KeptAttention, Lengths, Progress, Transformer};

/// The attention of one sentence and its translation, where it was computed. A copy is another handle to the same.
#[derive(Clone)]
pub struct Attended {
    layers: Vec<Layer>,
    left_out: Vec<LeftOut>,
}

#[derive(Clone)]
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
    /// While nobody asks for it, translating has no trace of it: no buffer, no launch. Of the options, kinds and memory count.
    ///
    /// # Errors
    /// [`TraceError`], naming what does not fit the model.
    pub fn attend(&self, request: &TraceRequest, options: &TraceOptions) -> Result<Attended, TraceError> {
        let shares = self.shares(std::slice::from_ref(request), options)?;
        self.attend_one(request, shares.into_iter().next().unwrap_or_default())
    }

    /// The same for several, one after the other; the memory is that of all of them together.
    pub(super) async fn attend_all(
        &self,
        requests: &[TraceRequest],
        options: &TraceOptions,
        cancel: &Cancel,
    ) -> Result<Vec<Attended>, TraceError> {
        let shares = self.shares(requests, options)?;
        let mut attended = Vec::with_capacity(requests.len());
        for (request, share) in requests.iter().zip(shares) {
            if cancel.listen().await {
                return Err(TraceError::Cancelled);
            }
            attended.push(self.attend_one(request, share)?);
        }
        Ok(attended)
    }

    /// Generates as [`generate_watched`](Self::generate_watched) does, and has the attention of each request's best hypothesis
    /// kept on the device. It is computed from queries and keys that the search leaves there, and nothing is run once more: a few
    /// hundredths of the time of a search for which nobody looks. Of the options, kinds and memory count; the longest sources
    /// have it first.
    ///
    /// # Errors
    /// Those of [`generate`](Self::generate), as [`TraceError`]; [`TraceError::NotATranslator`].
    pub async fn generate_attended(
        &self,
        requests: &[GenerateRequest],
        options: &TraceOptions,
        cancel: &Cancel,
        watch: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(Vec<Vec<Hypothesis>>, Vec<Attended>), TraceError> {
        let mut left = options.memory;
        self.generate_attended_within(&mut left, requests, options, cancel, watch).await
    }

    /// The same, with so many bytes `left` of [`TraceOptions::memory`], before and after.
    pub(super) async fn generate_attended_within(
        &self,
        left: &mut u64,
        requests: &[GenerateRequest],
        options: &TraceOptions,
        cancel: &Cancel,
        watch: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(Vec<Vec<Hypothesis>>, Vec<Attended>), TraceError> {
        self.check_translates()?;
        let buffer = self.device().max_buffer_bytes();
        let mut shares = vec![(Share::default(), Lengths::default()); requests.len()];
        let mut wanted = |batch: &[usize], lengths: &[Lengths]| {
            let made = share(self.config(), lengths, options, left, buffer);
            let wanted = made.iter().map(|share| share.wanted.clone()).collect();
            for ((&index, share), &lengths) in batch.iter().zip(made).zip(lengths) {
                shares[index] = (share, lengths);
            }
            wanted
        };
        let (found, kept) = self.generate_looking(requests, cancel, watch, &mut wanted).await?;
        let attended = kept.into_iter().zip(shares);
        let attended = attended.map(|(kept, (share, lengths))| self.attended(kept, share, lengths));
        Ok((found, attended.collect()))
    }

    fn attend_one(&self, request: &TraceRequest, share: Share) -> Result<Attended, TraceError> {
        let input = request.input();
        let kept = self.keep_attention(&input, &share.wanted)?;
        let lengths = Lengths { source: input.source_length, target: input.target_length };
        Ok(self.attended(kept, share, lengths))
    }

    fn attended(&self, kept: KeptAttention, share: Share, lengths: Lengths) -> Attended {
        let KeptAttention { encoder, decoder, cross } = kept;
        let Share { wanted, left_out } = share;
        let Lengths { source, target } = lengths;
        let (of_encoder, of_decoder) = (self.config().encoder.heads, self.config().decoder.heads);
        let kinds = [
            (AttentionKind::Encoder, of_encoder, [source, source], &wanted.encoder_attentions, encoder),
            (AttentionKind::Decoder, of_decoder, [target, target], &wanted.decoder_attentions, decoder),
            (AttentionKind::Cross, of_decoder, [target, source], &wanted.cross_attentions, cross),
        ];
        let layers = kinds.into_iter().flat_map(|(kind, heads, [queries, keys], layers, kept)| {
            let layer = move |(&layer, weights)| Layer { kind, layer, heads, queries, keys, weights };
            layers.iter().zip(kept).map(layer)
        });
        Attended { layers: layers.collect(), left_out }
    }
}

impl Attended {
    /// What there was no room for.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Its memory, bytes; a device may pad rows.
    pub fn bytes(&self) -> u64 {
        let of_layer = |layer: &Layer| 4 * (layer.heads * layer.queries * layer.keys) as u64;
        self.layers.iter().map(of_layer).sum()
    }

    /// The layers of a kind that are there, in order.
    pub fn layers(&self, kind: AttentionKind) -> impl Iterator<Item = usize> {
        self.of(kind).map(|layer| layer.layer)
    }

    /// The grid that the layers of a kind make; `None` where there are none.
    pub fn shape(&self, kind: AttentionKind) -> Option<GridShape> {
        let &Layer { heads, queries, keys, .. } = self.of(kind).next()?;
        Some(GridShape { layers: self.of(kind).count(), heads, queries, keys })
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
        match self.of(kind).find(|found| found.layer == layer) {
            Some(found) => Ok(Some(found.read().await?)),
            None => Ok(None),
        }
    }

    /// Brings all of it to the host: by kind, then by layer.
    ///
    /// # Errors
    /// [`GpuError`] of this or an earlier command.
    pub async fn read(&self) -> Result<Vec<LayerAttention>, GpuError> {
        let mut layers = Vec::with_capacity(self.layers.len());
        for layer in &self.layers {
            layers.push(layer.read().await?);
        }
        Ok(layers)
    }

    /// All heads of a kind as a grid to be painted; on the device that has them, nothing is moved.
    ///
    /// # Errors
    /// [`HeatmapError`]: none of them is there, or there is no room for the picture.
    pub async fn maps(&self, painter: &Painter, kind: AttentionKind) -> Result<Maps, HeatmapError> {
        let shape = self.shape(kind).ok_or(HeatmapError::Empty)?;
        let weights: Vec<&Kept> = self.of(kind).map(|layer| &layer.weights).collect();
        painter.take(shape, &weights).await
    }
}

impl Trace {
    /// Brings the attention of its sentences, in their order, to the host and into the trace.
    ///
    /// # Errors
    /// [`GpuError`] of this or an earlier command.
    pub async fn with_weights(mut self, attended: &[Attended]) -> Result<Self, GpuError> {
        for (sentence, attended) in self.sentences.iter_mut().zip(attended) {
            sentence.attention = attended.read().await?;
        }
        Ok(self)
    }
}

impl Layer {
    async fn read(&self) -> Result<LayerAttention, GpuError> {
        let &Self { kind, layer, heads, queries, keys, .. } = self;
        let weights = self.weights.read_rows(0..heads * queries).await?;
        Ok(LayerAttention { kind, layer, heads, queries, keys, weights })
    }
}
