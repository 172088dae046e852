//! One teacher-forced pass with its attention tapped, over exactly a source and what the decoder read.

use super::budget::{Share, share};
use super::{AttentionKind, Depth, LayerAttention, LeftOut, Stack, TraceError, TraceOptions};
use crate::model::config::Architecture;
use crate::transformer::{Cancel, ForwardInput, Lengths, ScoreRequest, Transformer};

/// A source and its target, as token ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceRequest {
    /// What the encoder reads.
    pub input_ids: Vec<u32>,
    /// The whole target, from the decoder's start token to the last token that it produced.
    pub target_ids: Vec<u32>,
    /// How many of the target's first tokens were given and not produced; at least 1.
    pub prompt: usize,
}

impl TraceRequest {
    /// What the model reads: the target but its last token.
    pub(super) fn input(&self) -> ForwardInput {
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
        }
    }
}

/// What was recorded of one request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// Attention of the kept layers.
    pub attention: Vec<LayerAttention>,
    /// Natural logarithm of the probability of each token after the prompt; none where that was not asked for.
    pub log_probabilities: Vec<f32>,
    /// The most probable ids at the place of each token after the prompt, with the logarithm of their probability, best
    /// first; none where logits would take too much memory.
    pub alternatives: Vec<Vec<(u32, f32)>>,
    /// What there was no room for.
    pub left_out: Vec<LeftOut>,
    /// The residual stream of both stacks; none where that was not asked for.
    pub depth: Vec<Depth>,
}

/// Memory for the logits of one sentence, bytes. Without them, probabilities are computed on the device.
const MAX_LOGITS_BYTES: u64 = 128 << 20;

impl Transformer {
    /// Runs given targets and keeps what there is to see, one request after the other; the memory for attention is that of
    /// all of them together.
    ///
    /// # Errors
    /// [`TraceError`], naming what does not fit the model; [`TraceError::Cancelled`].
    pub async fn record(
        &self,
        requests: &[TraceRequest],
        options: &TraceOptions,
        cancel: &Cancel,
    ) -> Result<Vec<Recording>, TraceError> {
        let shares = self.shares(requests, options)?;
        let mut recordings = Vec::with_capacity(requests.len());
        for (request, share) in requests.iter().zip(shares) {
            if cancel.listen().await {
                return Err(TraceError::Cancelled);
            }
            recordings.push(self.record_one(request, share, options, cancel).await?);
        }
        Ok(recordings)
    }

    /// What there is room for.
    pub(super) fn shares(
        &self,
        requests: &[TraceRequest],
        options: &TraceOptions,
    ) -> Result<Vec<Share>, TraceError> {
        self.check_translates()?;
        let mut lengths = Vec::with_capacity(requests.len());
        for TraceRequest { input_ids, target_ids, prompt } in requests {
            if *prompt == 0 || *prompt >= target_ids.len() {
                return Err(TraceError::NoTarget { tokens: target_ids.len(), prompt: *prompt });
            }
            lengths.push(Lengths { source: input_ids.len(), target: target_ids.len() - 1 });
        }
        let (mut left, buffer) = (options.memory, self.device().max_buffer_bytes());
        Ok(share(self.config(), &lengths, options, &mut left, buffer))
    }

    pub(super) fn check_translates(&self) -> Result<(), TraceError> {
        match self.config().architecture() {
            Architecture::EncoderDecoder => Ok(()),
            _ => Err(TraceError::NotATranslator { model_type: self.config().family.model_type() }),
        }
    }

    async fn record_one(
        &self,
        request: &TraceRequest,
        share: Share,
        options: &TraceOptions,
        cancel: &Cancel,
    ) -> Result<Recording, TraceError> {
        let TraceRequest { input_ids, target_ids, prompt } = request;
        let Share { mut wanted, mut left_out } = share;
        let length = target_ids.len() - 1;
        let logits_bytes = 4 * (length * self.config().target_vocabulary) as u64;
        let count = options.alternatives;
        wanted.logits =
            options.scores && logits_bytes <= MAX_LOGITS_BYTES.min(self.device().max_buffer_bytes());
        wanted.hidden_states = options.depth;
        let input = request.input();
        let output = self.forward_selected(&input, &wanted).await?;
        let (log_probabilities, alternatives) = match (options.scores, wanted.logits) {
            (false, _) => (Vec::new(), Vec::new()),
            (true, true) => {
                let rows = output.logits.data.chunks_exact(self.config().target_vocabulary);
                rows.zip(&target_ids[1..])
                    .skip(prompt - 1)
                    .map(|(logits, &chosen)| distribution(logits, chosen, count))
                    .unzip()
            }
            (true, false) => {
                if count > 0 {
                    let reason = "the scores of all tokens take too much memory".to_owned();
                    left_out.push(LeftOut { attention: None, bytes: logits_bytes, reason });
                }
                let (context, target) = target_ids.split_at(*prompt);
                let request = ScoreRequest {
                    input_ids: input_ids.clone(),
                    context_ids: context.to_vec(),
                    target_ids: target.to_vec(),
                };
                let scores = self.score(&[request], cancel, &mut |_| {}).await?;
                let of_tokens = scores.into_iter().next().unwrap_or_default().token_log_probabilities;
                let none = vec![Vec::new(); of_tokens.len()];
                (of_tokens, none)
            }
        };
        let mut attention = Vec::new();
        for (kind, layers, tensors) in [
            (AttentionKind::Encoder, wanted.encoder_attentions, output.encoder_attentions),
            (AttentionKind::Decoder, wanted.decoder_attentions, output.decoder_attentions),
            (AttentionKind::Cross, wanted.cross_attentions, output.cross_attentions),
        ] {
            for (layer, tensor) in layers.into_iter().zip(tensors) {
                let [_, heads, queries, keys] = tensor.shape[..] else {
                    unreachable!("attention is [batch, heads, queries, keys]")
                };
                attention.push(LayerAttention { kind, layer, heads, queries, keys, weights: tensor.data });
            }
        }
        let depth = Depth::of_all(Stack::Encoder, &output.encoder_hidden_states)
            .chain(Depth::of_all(Stack::Decoder, &output.decoder_hidden_states))
            .collect();
        Ok(Recording { attention, log_probabilities, alternatives, left_out, depth })
    }
}

/// The logarithm of the chosen token's probability, and the most probable tokens with theirs.
fn distribution(logits: &[f32], chosen: u32, count: usize) -> (f32, Vec<(u32, f32)>) {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|&logit| f64::from(logit - largest).exp()).sum();
    let log_probability = |logit: f32| (f64::from(logit - largest) - sum.ln()) as f32;
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
