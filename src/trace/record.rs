//! One teacher-forced pass over a source and a target: attention, probabilities, hidden states.

use super::depth::{Depth, Stack};
use super::error::TraceError;
use super::options::TraceOptions;
use super::taps::TracedTap;
use crate::model::config::ModelConfig;
use crate::model::{AttentionKind, BandLayout, Bands, LayerAttention};
use crate::transformer::{
    Cancel, ForwardInput, ForwardSelection, KeptAttention, LeftOut, Lengths, ScoreRequest, Share, Tensor,
    Transformer, band_layout, share, without_room,
};

/// A source and its target as token ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceRequest {
    /// Input of the encoder.
    pub input_ids: Vec<u32>,
    /// Target from the decoder's start token to the last token.
    pub target_ids: Vec<u32>,
    /// Number of given target tokens; at least 1.
    pub prompt: usize,
}

impl TraceRequest {
    /// The input of the model: the target without its last token.
    fn input(&self, config: &ModelConfig) -> ForwardInput {
        let Self { input_ids, target_ids, .. } = self;
        let length = target_ids.len() - 1;
        ForwardInput {
            batch: 1,
            source_length: input_ids.len(),
            target_length: length,
            input_ids: input_ids.clone(),
            attention_mask: vec![1; input_ids.len()],
            token_type_ids: Vec::new(),
            decoder_input_ids: target_ids[..length].to_vec(),
            global_attention_mask: config.usual_global_mask(input_ids.len()),
        }
    }

    /// The tokens after the prompt, to be scored.
    fn scored(&self, config: &ModelConfig) -> ScoreRequest {
        let (context, target) = self.target_ids.split_at(self.prompt);
        ScoreRequest {
            input_ids: self.input_ids.clone(),
            context_ids: context.to_vec(),
            target_ids: target.to_vec(),
            global_tokens: config.usual_globals(),
        }
    }
}

/// The record of one request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// Kept attention.
    pub attention: Vec<LayerAttention>,
    /// Natural logarithm of the probability of each token after the prompt; empty if not requested.
    pub log_probabilities: Vec<f32>,
    /// Most probable `(id, log-probability)` for each token after the prompt, best first; empty if logits exceed the
    /// memory.
    pub alternatives: Vec<Vec<(u32, f32)>>,
    /// Layers without room.
    pub left_out: Vec<LeftOut>,
    /// Residual stream of both stacks; empty if not requested.
    pub depth: Vec<Depth>,
    /// Tapped tensors; empty if not requested.
    pub taps: Vec<TracedTap>,
}

/// Bytes of one sentence's logits. Above it, probabilities are computed on the device.
const MAX_LOGITS_BYTES: u64 = 128 << 20;

/// Runs given targets, one after the other, and records what `options` ask for. The memory for attention is shared.
///
/// # Errors
/// [`TraceError`] with the input that does not fit the model; [`TraceError::Cancelled`].
pub async fn record(
    transformer: &Transformer,
    requests: &[TraceRequest],
    options: &TraceOptions,
    cancel: &Cancel,
) -> Result<Vec<Recording>, TraceError> {
    let mut recordings: Vec<Recording> = Vec::with_capacity(requests.len());
    let mut tapped = 0;
    for (request, share) in requests.iter().zip(shares(transformer, requests, options)?) {
        if cancel.listen().await {
            return Err(TraceError::Cancelled);
        }
        let recording = record_one(transformer, request, share, options, cancel).await?;
        tapped += recording.taps.iter().map(|tap| 4 * tap.values.len() as u64).sum::<u64>();
        if tapped > options.memory {
            return Err(TraceError::TooManyTaps { bytes: tapped, memory: options.memory });
        }
        recordings.push(recording);
    }
    Ok(recordings)
}

/// Computes the attention of given targets on the device, and keeps it there. Only kinds and memory are used.
pub async fn attend(
    transformer: &Transformer,
    requests: &[TraceRequest],
    options: &TraceOptions,
    cancel: &Cancel,
) -> Result<Vec<KeptAttention>, TraceError> {
    let mut kept = Vec::with_capacity(requests.len());
    for (request, share) in requests.iter().zip(shares(transformer, requests, options)?) {
        if cancel.listen().await {
            return Err(TraceError::Cancelled);
        }
        kept.push(transformer.keep_attention(&request.input(transformer.config()), share)?);
    }
    Ok(kept)
}

fn shares(
    transformer: &Transformer,
    requests: &[TraceRequest],
    options: &TraceOptions,
) -> Result<Vec<Share>, TraceError> {
    transformer.check_translates()?;
    let mut lengths = Vec::with_capacity(requests.len());
    for TraceRequest { input_ids, target_ids, prompt } in requests {
        if *prompt == 0 || *prompt >= target_ids.len() {
            return Err(TraceError::NoTarget { tokens: target_ids.len(), prompt: *prompt });
        }
        lengths.push(Lengths {
            source: input_ids.len(),
            globals: transformer.config().usual_globals(),
            target: target_ids.len() - 1,
        });
    }
    let (mut left, buffer) = (options.memory, transformer.device().max_buffer_bytes());
    Ok(share(transformer.config(), &lengths, &options.keep_attention(), &mut left, buffer))
}

async fn record_one(
    transformer: &Transformer,
    request: &TraceRequest,
    share: Share,
    options: &TraceOptions,
    cancel: &Cancel,
) -> Result<Recording, TraceError> {
    let Share { mut selection, mut left_out } = share;
    let vocabulary = transformer.config().target_vocabulary;
    let logits_bytes = 4 * ((request.target_ids.len() - 1) * vocabulary) as u64;
    selection.logits =
        options.scores && logits_bytes <= MAX_LOGITS_BYTES.min(transformer.device().max_buffer_bytes());
    selection.hidden_states = options.depth;
    selection.taps = options.taps.clone();
    let output = transformer.forward_selected(&request.input(transformer.config()), &selection).await?;
    let (log_probabilities, alternatives) = match (options.scores, selection.logits) {
        (false, _) => (Vec::new(), Vec::new()),
        (true, true) => {
            let rows = output.logits.data.chunks_exact(vocabulary);
            rows.zip(&request.target_ids[1..])
                .skip(request.prompt - 1)
                .map(|(logits, &chosen)| distribution(logits, chosen, options.alternatives))
                .unzip()
        }
        (true, false) => {
            if options.alternatives > 0 {
                let reason = "the scores of all tokens take too much memory".to_owned();
                left_out.push(LeftOut { attention: None, bytes: logits_bytes, reason });
            }
            let scored =
                transformer.score(&[request.scored(transformer.config())], cancel, &mut |_| {}).await?;
            let of_tokens = scored.into_iter().next().unwrap_or_default().token_log_probabilities;
            let none = vec![Vec::new(); of_tokens.len()];
            (of_tokens, none)
        }
    };
    let layouts = selection.encoder_attentions.iter().map(|&layer| {
        let config = transformer.config();
        band_layout(config, layer, request.input_ids.len(), &config.usual_globals())
    });
    let attention = attention_of(
        &selection,
        [output.encoder_attentions, output.decoder_attentions, output.cross_attentions],
    );
    // the encoder's layers come first
    let mut of_globals = output.encoder_global_attentions.into_iter();
    let layouts = layouts.chain(std::iter::repeat(None));
    let attention = attention.into_iter().zip(layouts).map(|(layer, layout)| match layout {
        None => layer,
        Some(layout) => banded(layer, layout, &mut of_globals),
    });
    let attention = attention.collect();
    let depth = Depth::of_all(Stack::Encoder, &output.encoder_hidden_states)
        .chain(Depth::of_all(Stack::Decoder, &output.decoder_hidden_states))
        .collect();
    let taps = output.taps.into_iter().map(|(name, tensor)| TracedTap::new(name, tensor)).collect();
    Ok(Recording { attention, log_probabilities, alternatives, left_out, depth, taps })
}

/// The layer of a tensor `[1, heads, queries, room for side keys + band]`.
fn banded(
    layer: LayerAttention,
    layout: BandLayout,
    of_globals: &mut impl Iterator<Item = Tensor>,
) -> LayerAttention {
    let LayerAttention { heads, queries, keys: width, weights, .. } = layer;
    let globals = layout.global_queries.len();
    let of_globals = if globals > 0 { of_globals.next() } else { None };
    let global_weights = of_globals.map_or_else(Vec::new, |tensor| {
        let of_head = tensor.data.len() / heads;
        let heads = tensor.data.chunks_exact(of_head.max(1));
        heads.flat_map(|head| &head[..globals * queries]).copied().collect()
    });
    let weights = without_room(weights, width, &layout);
    let bands = Some(Bands { layout, global_weights });
    LayerAttention { keys: queries, weights, bands, ..layer }.tightened()
}

/// Makes layers of `[1, heads, queries, keys]` tensors, by kind, then by layer.
fn attention_of(selection: &ForwardSelection, tensors: [Vec<Tensor>; 3]) -> Vec<LayerAttention> {
    let ForwardSelection { encoder_attentions, decoder_attentions, cross_attentions, .. } = selection;
    let layers = [encoder_attentions, decoder_attentions, cross_attentions];
    let kinds = AttentionKind::ALL.into_iter().zip(layers).zip(tensors);
    let of_kind = |((kind, layers), tensors): ((AttentionKind, &Vec<usize>), Vec<Tensor>)| {
        let layers = layers.clone().into_iter().zip(tensors);
        layers.map(move |(layer, tensor)| {
            let [_, heads, queries, keys] = tensor.shape[..] else {
                unreachable!("attention is [batch, heads, queries, keys]")
            };
            LayerAttention { kind, layer, heads, queries, keys, weights: tensor.data, bands: None }
        })
    };
    kinds.flat_map(of_kind).collect()
}

/// Natural logarithm of the chosen token's probability, and the most probable tokens with theirs.
fn distribution(logits: &[f32], chosen: u32, count: usize) -> (f32, Vec<(u32, f32)>) {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|&logit| f64::from(logit - largest).exp()).sum();
    let log_probability = |logit: f32| (f64::from(logit - largest) - sum.ln()) as f32;
    let count = count.min(logits.len());
    let mut best: Vec<(u32, f32)> = Vec::with_capacity(count + 1);
    for (id, &logit) in (0..).zip(logits) {
        if !logit.is_finite() {
            continue;
        }
        if best.len() < count || best.last().is_some_and(|&(_, last)| logit > last) {
            let place = best.partition_point(|&(_, other)| other >= logit);
            best.insert(place, (id, logit));
            best.truncate(count);
        }
    }
    best.iter_mut().for_each(|(_, logit)| *logit = log_probability(*logit));
    (log_probability(logits[chosen as usize]), best)
}
