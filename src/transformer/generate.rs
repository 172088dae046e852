//! Generation: requests sorted into batches, and each batch searched.

use super::Transformer;
use super::cancel::Cancel;
use super::session::{DecodeSession, SessionKey};
use crate::decode::{BatchSearch, DecodeError, DecodeOptions, Hypothesis};
use crate::gpu::GpuError;
use crate::graph::GraphError;
use crate::model::config::{Architecture, StackConfig};

/// One source sentence, and how to decode it.
#[derive(Clone, Debug, PartialEq)]
pub struct GenerateRequest {
    /// Source token ids, with whatever special tokens the model expects.
    pub input_ids: Vec<u32>,
    /// The search.
    pub options: DecodeOptions,
}

/// What a generation tells those who watch it.
pub enum Progress<'a> {
    /// A batch is about to take its next step.
    Step {
        /// Its requests, as places among all that were given.
        requests: &'a [usize],
        /// Its searches, in the same order.
        search: &'a BatchSearch,
    },
    /// A batch is done.
    Finished {
        /// Its requests, as places among all that were given.
        requests: &'a [usize],
        /// Their hypotheses, in the same order, best first.
        hypotheses: &'a [Vec<Hypothesis>],
    },
}

/// Why nothing was generated.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// A model that only reads.
    #[error("a \"{model_type}\" model has no decoder and generates nothing; `forward` runs it")]
    NoDecoder {
        /// The model's family.
        model_type: &'static str,
    },
    /// A source without tokens.
    #[error("there are no input ids; at least one is needed")]
    Empty,
    /// A source longer than the model's positions.
    #[error("there are {length} input ids, but the model has {limit} positions; split it")]
    TooLong {
        /// Its length.
        length: usize,
        /// The model's positions.
        limit: usize,
    },
    /// A token id that the model does not have.
    #[error("input id {token} is too large: the source vocabulary has {vocabulary} tokens")]
    Token {
        /// The id.
        token: u32,
        /// Tokens of the vocabulary.
        vocabulary: usize,
    },
    /// Options that cannot be searched with.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// A size that a graph cannot have.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A fault of the device.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// [`Cancel::cancel`] was called.
    #[error("cancelled")]
    Cancelled,
}

/// Rows (sentences × beams) decoded together at most.
const MAX_ROWS: usize = 64;
/// Source tokens, padding included, encoded together at most.
const MAX_SOURCE_TOKENS: usize = 4096;
/// Memory for one batch's caches, bytes.
const MAX_CACHE_BYTES: u64 = 512 << 20;

impl Transformer {
    /// Generates for every request the hypotheses that its options ask for, best first, in the order of the requests.
    ///
    /// Requests are decoded in batches of similar length; no result depends on the others. `finished` is called with
    /// the number of requests done.
    ///
    /// # Errors
    /// [`GenerateError`] naming the request or option at fault; [`GenerateError::Cancelled`].
    pub async fn generate(
        &self,
        requests: &[GenerateRequest],
        cancel: &Cancel,
        finished: &mut dyn FnMut(usize),
    ) -> Result<Vec<Vec<Hypothesis>>, GenerateError> {
        let mut done = 0;
        let mut count = |progress: Progress<'_>| {
            if let Progress::Finished { requests, .. } = progress {
                done += requests.len();
                finished(done);
            }
        };
        self.generate_watched(requests, cancel, &mut count).await
    }

    /// As [`generate`](Self::generate), with a look at the searches before every step: for showing a translation while
    /// it is being made.
    ///
    /// # Errors
    /// As [`generate`](Self::generate).
    pub async fn generate_watched(
        &self,
        requests: &[GenerateRequest],
        cancel: &Cancel,
        watch: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Vec<Vec<Hypothesis>>, GenerateError> {
        for request in requests {
            self.check_request(request)?;
        }
        let mut order: Vec<usize> = (0..requests.len()).collect();
        let kind = |request: &GenerateRequest| request.options.batch_key();
        order.sort_by_key(|&index| (kind(&requests[index]), requests[index].input_ids.len()));

        let mut results = vec![Vec::new(); requests.len()];
        let mut waiting = order.as_slice();
        while let Some(&first) = waiting.first() {
            let same_kind =
                waiting.iter().take_while(|&&index| kind(&requests[index]) == kind(&requests[first]));
            let (batch, rest) = waiting.split_at(self.batch_size(requests, same_kind));
            let batch_requests: Vec<&GenerateRequest> = batch.iter().map(|&index| &requests[index]).collect();
            let mut step = |search: &BatchSearch| watch(Progress::Step { requests: batch, search });
            let hypotheses = self.generate_batch(&batch_requests, cancel, &mut step).await?;
            watch(Progress::Finished { requests: batch, hypotheses: &hypotheses });
            for (&index, hypotheses) in batch.iter().zip(hypotheses) {
                results[index] = hypotheses;
            }
            waiting = rest;
        }
        Ok(results)
    }

    /// Checks a request without running it.
    ///
    /// # Errors
    /// As [`Transformer::generate`](Self::generate).
    pub fn check_request(&self, request: &GenerateRequest) -> Result<(), GenerateError> {
        let (limit, vocabulary) = (self.config.positions.count(), self.config.source_vocabulary);
        let length = request.input_ids.len();
        if self.config.architecture() == Architecture::EncoderOnly {
            return Err(GenerateError::NoDecoder { model_type: self.config.family.model_type() });
        }
        if length == 0 {
            return Err(GenerateError::Empty);
        }
        if length > limit {
            return Err(GenerateError::TooLong { length, limit });
        }
        if let Some(&token) = request.input_ids.iter().find(|&&token| token as usize >= vocabulary) {
            return Err(GenerateError::Token { token, vocabulary });
        }
        Ok(request.options.validate(self.config.target_vocabulary, limit)?)
    }

    /// How many of the requests, shortest first, go into one batch.
    fn batch_size<'a>(
        &self,
        requests: &[GenerateRequest],
        candidates: impl Iterator<Item = &'a usize>,
    ) -> usize {
        let elements = |count: usize, each: usize| count as u64 * each as u64;
        let config = &self.config;
        let qkv = |stack: &StackConfig| 2 * stack.key_width() + stack.value_width();
        // whichever stack reads the input
        let reader = if config.encoder.layers > 0 { &config.encoder } else { &config.decoder };
        let widest = reader.ffn_width.max(qkv(reader)).max(config.d_model);
        let cached = config.decoder.key_width() + config.decoder.value_width();
        let mut capacity = 0;
        let mut size = 0;
        for &index in candidates {
            let request = &requests[index];
            let rows = (size + 1) * request.options.rows();
            let source_tokens = (size + 1) * request.input_ids.len();
            capacity = capacity.max(request.options.max_length);
            let cache = elements(rows * capacity, cached);
            let largest =
                cache.max(elements(rows, config.target_vocabulary)).max(elements(source_tokens, widest));
            let fits = rows <= MAX_ROWS
                && source_tokens <= MAX_SOURCE_TOKENS
                && 4 * config.decoder.layers as u64 * cache <= MAX_CACHE_BYTES
                && 4 * largest <= self.device.max_buffer_bytes();
            if size > 0 && !fits {
                break;
            }
            size += 1;
        }
        size
    }

    async fn generate_batch(
        &self,
        requests: &[&GenerateRequest],
        cancel: &Cancel,
        before_step: &mut dyn FnMut(&BatchSearch),
    ) -> Result<Vec<Vec<Hypothesis>>, GenerateError> {
        let search = BatchSearch::new(requests.iter().map(|request| request.options.clone()).collect())?;
        let key = SessionKey::new(&self.config, requests, &search);
        let mut session = match self.idle.take(&key) {
            Some(session) => session,
            None => DecodeSession::new(self, key)?,
        };
        let result = session.run(self, requests, search, cancel, before_step).await;
        // a session is good for another batch whatever became of this one, unless the device failed
        if !matches!(result, Err(GenerateError::Gpu(_))) {
            self.idle.put(session);
        }
        result
    }
}
