//! Probabilities of given targets. One number per token is read back; logits stay on the device.

mod error;
mod request;
mod run;

pub use error::ScoreError;
pub use request::{Score, ScoreRequest};

use super::global_states::check_attention;
use super::{Cancel, Transformer, resolve};
use crate::model::config::Architecture;
use crate::model::generation_config::GenerationConfig;
use crate::sorting;

impl Transformer {
    /// Makes a request, like Hugging Face's labels: with an encoder, `target_ids` come after the start token of
    /// `options`, of the model's defaults or of its configuration. In decoder-only models they come after `input_ids`;
    /// without targets, all `input_ids` but the first are scored. The request names no global tokens; add them to it.
    ///
    /// # Errors
    /// As [`check_score_request`](Self::check_score_request); [`ScoreError::Decode`] without a start token.
    pub fn score_request(
        &self,
        input_ids: Vec<u32>,
        target_ids: Vec<u32>,
        options: &GenerationConfig,
    ) -> Result<ScoreRequest, ScoreError> {
        let request = match self.host.config.architecture() {
            Architecture::DecoderOnly if target_ids.is_empty() => {
                let mut context_ids = input_ids;
                let target_ids = context_ids.split_off(context_ids.len().min(1));
                ScoreRequest { context_ids, target_ids, ..ScoreRequest::default() }
            }
            Architecture::DecoderOnly => {
                ScoreRequest { context_ids: input_ids, target_ids, ..ScoreRequest::default() }
            }
            Architecture::EncoderOnly => return Err(self.no_decoder()),
            Architecture::EncoderDecoder => {
                let start = GenerationConfig {
                    decoder_start_token_id: options.decoder_start_token_id,
                    ..GenerationConfig::default()
                };
                let context_ids =
                    resolve(&start, &self.host.generation, &self.host.config, &input_ids)?.prompt;
                ScoreRequest { input_ids, context_ids, target_ids, ..ScoreRequest::default() }
            }
        };
        self.check_score_request(&request)?;
        Ok(request)
    }

    /// Cuts a text of any length into requests that fit a decoder-only model. Each scores the next `stride` tokens
    /// after as many earlier tokens as fit. The first scores all that fit, without the first token. Hugging Face:
    /// "Perplexity of fixed-length models".
    ///
    /// # Panics
    /// If `stride` is 0.
    pub fn score_windows(&self, ids: &[u32], stride: usize) -> Vec<ScoreRequest> {
        assert!(stride > 0, "windows have to advance");
        let size = self.host.config.positions.count();
        let mut requests = Vec::new();
        let mut scored = 1;
        while scored < ids.len() {
            let end = match requests.is_empty() {
                true => size.min(ids.len()),
                false => (scored + stride.min(size - 1)).min(ids.len()),
            };
            let first = end.saturating_sub(size);
            requests.push(ScoreRequest {
                context_ids: ids[first..scored].to_vec(),
                target_ids: ids[scored..end].to_vec(),
                ..ScoreRequest::default()
            });
            scored = end;
        }
        requests
    }

    /// Checks a request without running it.
    pub fn check_score_request(&self, request: &ScoreRequest) -> Result<(), ScoreError> {
        let config = &self.host.config;
        let (source, target) = (config.source_vocabulary, config.target_vocabulary);
        let with_encoder = match config.architecture() {
            Architecture::EncoderOnly => return Err(self.no_decoder()),
            Architecture::EncoderDecoder => true,
            Architecture::DecoderOnly => false,
        };
        let ScoreRequest { input_ids, context_ids, target_ids, global_tokens } = request;
        let limit = config.positions.count();
        let inputs = [
            ("input_ids", input_ids, source, with_encoder),
            ("the decoder's context", context_ids, target, true),
            ("target_ids", target_ids, target, true),
        ];
        for (input, ids, vocabulary, needed) in inputs {
            if needed && ids.is_empty() {
                return Err(ScoreError::Empty { input });
            }
            if let Some(&token) = ids.iter().find(|&&token| token as usize >= vocabulary) {
                return Err(ScoreError::Token { input, token, vocabulary });
            }
        }
        let lengths =
            [("input_ids", input_ids.len()), ("the target", context_ids.len() + target_ids.len() - 1)];
        let too_long = |&(input, length): &(&str, usize)| {
            length > if input == "input_ids" { config.source_positions().count() } else { limit }
        };
        match lengths.into_iter().find(too_long) {
            Some(("input_ids", length)) => Err(ScoreError::TooLong {
                input: "input_ids",
                length,
                limit: config.source_positions().count(),
            }),
            Some((input, length)) => Err(ScoreError::TooLong { input, length, limit }),
            None if with_encoder => Ok(check_attention(config, global_tokens, input_ids.len())?),
            None => Ok(()),
        }
    }

    /// Scores targets independently, in the order of the requests. `finished` gets the number of finished requests.
    ///
    /// # Errors
    /// As [`check_score_request`](Self::check_score_request); [`ScoreError::Cancelled`].
    pub async fn score(
        &self,
        requests: &[ScoreRequest],
        cancel: &Cancel,
        finished: &mut dyn FnMut(usize),
    ) -> Result<Vec<Score>, ScoreError> {
        requests.iter().try_for_each(|request| self.check_score_request(request))?;
        let mut order: Vec<usize> = (0..requests.len()).collect();
        sorting::sort_by_key(&mut order, |&index| {
            (requests[index].decoder_ids().len(), requests[index].input_ids.len())
        });
        let mut scores = vec![Score::default(); requests.len()];
        let (mut waiting, mut done) = (order.as_slice(), 0);
        let mut attempts = super::attempts::Attempts::default();
        while !waiting.is_empty() {
            if cancel.listen().await {
                return Err(ScoreError::Cancelled);
            }
            let model = self.model();
            let size = run::batch_size(&model, requests, waiting).min(self.recovery.most_sentences());
            let (batch, rest) = waiting.split_at(size);
            let batch_requests: Vec<&ScoreRequest> = batch.iter().map(|&index| &requests[index]).collect();
            match run::run(&model, &batch_requests).await {
                Ok(found) => batch.iter().zip(found).for_each(|(&index, score)| scores[index] = score),
                Err(error) => {
                    self.overcome(&model, error, &mut attempts, size)?;
                    continue;
                }
            }
            attempts.progress();
            waiting = rest;
            done += batch.len();
            finished(done);
        }
        Ok(scores)
    }

    fn no_decoder(&self) -> ScoreError {
        ScoreError::NoDecoder { model_type: self.host.config.family.model_type() }
    }
}
