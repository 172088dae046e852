//! Generation: requests sorted into batches, and each batch searched, with others taking the place of those that are done.

use std::cmp::Reverse;

use super::Transformer;
use super::cancel::Cancel;
use super::queue::Queue;
use super::session::{DecodeSession, SessionKey, padded_length};
use crate::decode::{BatchSearch, DecodeError, DecodeOptions, Hypothesis, SearchTree, SentenceSearch};
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
    /// A batch is about to take its next step, or the next few where the device takes them by itself.
    Step {
        /// Those that have its rows now, as places among all that were given.
        requests: &'a [usize],
        /// Its searches, in the same order.
        search: &'a BatchSearch,
    },
    /// Requests are done: the last of a batch, or one whose rows another takes over.
    Finished {
        /// As places among all that were given.
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
    /// The device's search chose another token than the same search on the host: its driver computes something else than
    /// it should, or Wordloom does.
    #[error(
        "at token {step} of row {row} the device's search chose another token than the same search on the CPU; this is a \
         fault of its driver, or of Wordloom: please report it, and use another device (`--device cpu`)"
    )]
    SearchDiverged {
        /// Counted from 1.
        step: usize,
        /// Of the batch.
        row: usize,
    },
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

/// What a search leaves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Hypotheses,
    Tree,
}

/// A search that can be looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exploration {
    /// Its result, best first.
    pub hypotheses: Vec<Hypothesis>,
    /// All that it looked at, after the prompt.
    pub tree: SearchTree,
}

impl Transformer {
    /// Generates for every request the hypotheses that its options ask for, best first, in the order of the requests.
    ///
    /// Requests are decoded in batches of similar length, where those that are done make room for the next; no result
    /// depends on the others. `finished` is called with
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

    /// As [`generate`](Self::generate), with a look at the searches before every step, or every few: for showing a translation while
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
        // Similar lengths share a batch, so that little is padding. The longest go first: what a device has no room for
        // fails at once rather than at the end, and what is left to do is never more than it seems.
        order.sort_by_key(|&index| (kind(&requests[index]), Reverse(requests[index].input_ids.len())));

        let mut results = vec![Vec::new(); requests.len()];
        let mut waiting = order.as_slice();
        while let Some(&first) = waiting.first() {
            let same_kind =
                waiting.iter().take_while(|&&index| kind(&requests[index]) == kind(&requests[first]));
            let (batch, rest) = waiting.split_at(self.batch_size(requests, same_kind));
            let (following, rest) = rest.split_at(self.followers(requests, batch, rest));
            let queue = Queue::new(requests, batch, following, &mut results, watch);
            self.generate_queue(queue, cancel, Keep::Hypotheses).await?;
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

    /// How many of the requests go into one batch.
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
        let (mut capacity, mut longest) = (0, 0);
        let mut size = 0;
        for &index in candidates {
            let request = &requests[index];
            let rows = (size + 1) * request.options.rows();
            longest = longest.max(request.input_ids.len());
            let source_tokens = (size + 1) * longest;
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

    /// How many of the `waiting` requests, from the first on, can take over rows of the batch when its own are done: all that
    /// they need has room there, and no more of it is padding than anywhere. Both are places among `requests`, the longest first.
    fn followers(&self, requests: &[GenerateRequest], batch: &[usize], waiting: &[usize]) -> usize {
        let (Some(&first), Architecture::EncoderDecoder) = (batch.first(), self.config.architecture()) else {
            return 0;
        };
        let first = &requests[first];
        let batch = || batch.iter().map(|&index| &requests[index]);
        if batch().any(|request| request.options.prompt.len() > 1) {
            return 0; // prompts are read for all rows at once
        }
        let max_length = batch().map(|request| request.options.max_length).max().unwrap_or(0);
        let padded = |input_ids: &[u32]| padded_length(&self.config, input_ids.len());
        let follows = |&&index: &&usize| {
            let GenerateRequest { input_ids, options } = &requests[index];
            let as_first = DecodeOptions { max_length: first.options.max_length, ..options.clone() };
            padded(input_ids) == padded(&first.input_ids)
                && options.max_length <= max_length
                && as_first == first.options
        };
        waiting.iter().take_while(follows).count()
    }

    /// Searches for one request's hypotheses as [`generate`](Self::generate) does, and keeps all that the search looked at.
    /// A [prompt](DecodeOptions::prompt) of more tokens than the start makes it go on from there.
    ///
    /// # Errors
    /// As [`generate`](Self::generate).
    pub async fn explore(
        &self,
        request: &GenerateRequest,
        cancel: &Cancel,
    ) -> Result<Exploration, GenerateError> {
        self.check_request(request)?;
        let (mut results, mut watch) = ([Vec::new()], |_: Progress<'_>| {});
        let queue = Queue::new(std::slice::from_ref(request), &[0], &[], &mut results, &mut watch);
        let tree = self.generate_queue(queue, cancel, Keep::Tree).await?.unwrap_or_default();
        let [hypotheses] = results;
        Ok(Exploration { hypotheses, tree })
    }

    /// Gives the first sentence's tree, where that is to be kept.
    async fn generate_queue(
        &self,
        queue: Queue<'_>,
        cancel: &Cancel,
        keep: Keep,
    ) -> Result<Option<SearchTree>, GenerateError> {
        let batch = queue.batch();
        let mut search = BatchSearch::new(batch.iter().map(|request| request.options.clone()).collect())?;
        if keep == Keep::Tree {
            search.sentences_mut().iter_mut().for_each(SentenceSearch::keep_tree);
        }
        let key = SessionKey::new(self, &batch, &search, queue.waiting());
        let mut session = match self.idle.take(&key) {
            Some(session) => session,
            None => DecodeSession::new(self, key)?,
        };
        let result = session.run(self, queue, search, cancel).await;
        // a session is good for another batch whatever became of this one, unless the device failed
        if !matches!(result, Err(GenerateError::Gpu(_))) {
            self.idle.put(session);
        }
        result
    }
}
