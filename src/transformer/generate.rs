//! Generation: requests sorted into batches, and each batch searched, with others taking the place of those that are done.

use std::cmp::Reverse;

use super::Transformer;
use super::cancel::Cancel;
use super::error::GenerateError;
use super::forward::{KeptAttention, Wanted};
use super::queue::Queue;
use super::request::{GenerateRequest, Progress};
use super::session::{DecodeSession, SearchRecord, SessionKey, cache_capacity, padded_length};
use crate::decode::{BatchSearch, DecodeOptions, Hypothesis, SearchTree, SentenceSearch};
use crate::model::config::{Architecture, StackConfig};

/// Rows (sentences × beams) decoded together at most.
const MAX_ROWS: usize = 64;
/// Source tokens, padding included, encoded together at most.
const MAX_SOURCE_TOKENS: usize = 4096;
/// Memory for one batch's caches, bytes.
const MAX_CACHE_BYTES: u64 = 512 << 20;

/// Tokens of a sentence whose attention is looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lengths {
    pub source: usize,
    /// That the decoder reads.
    pub target: usize,
}

/// Says what is wanted of some requests, from their places among all that were given and their lengths.
pub(crate) type AttentionShare<'a> = dyn FnMut(&[usize], &[Lengths]) -> Vec<Wanted> + 'a;

/// What a search leaves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Hypotheses,
    Tree,
    /// What attention is computed from.
    Attention,
}

/// A batch's search, done.
struct Searched {
    /// Has to be put back.
    session: DecodeSession,
    left: SearchRecord,
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
        let order = self.in_order(requests)?;
        let mut results = vec![Vec::new(); requests.len()];
        let mut waiting = order.as_slice();
        while !waiting.is_empty() {
            let (batch, rest) = waiting.split_at(self.batch_size(requests, waiting, Keep::Hypotheses));
            let (following, rest) = rest.split_at(self.followers(requests, batch, rest));
            let queue = Queue::new(requests, batch, following, &mut results, watch);
            let searched = self.generate_queue(queue, cancel, Keep::Hypotheses).await?;
            self.idle.put(searched.session);
            waiting = rest;
        }
        Ok(results)
    }

    /// As [`generate_watched`](Self::generate_watched), with attention of the best hypothesis of each request, which stays on the
    /// device: computed from what the search has left there, without running anything once more.
    ///
    /// # Errors
    /// As [`generate`](Self::generate).
    pub(crate) async fn generate_looking(
        &self,
        requests: &[GenerateRequest],
        cancel: &Cancel,
        watch: &mut dyn FnMut(Progress<'_>),
        share: &mut AttentionShare<'_>,
    ) -> Result<(Vec<Vec<Hypothesis>>, Vec<KeptAttention>), GenerateError> {
        let order = self.in_order(requests)?;
        let mut results = vec![Vec::new(); requests.len()];
        let mut kept: Vec<KeptAttention> = Vec::new();
        kept.resize_with(requests.len(), KeptAttention::default);
        let mut waiting = order.as_slice();
        while !waiting.is_empty() {
            let (batch, rest) = waiting.split_at(self.batch_size(requests, waiting, Keep::Attention));
            // nobody takes over rows, so that all that was run is still there in the end
            let queue = Queue::new(requests, batch, &[], &mut results, watch);
            let Searched { session, left } = self.generate_queue(queue, cancel, Keep::Attention).await?;
            let paths = left.paths.unwrap_or_default();
            let lengths: Vec<Lengths> = (batch.iter())
                .map(|&index| Lengths {
                    source: requests[index].input_ids.len(),
                    target: results[index][0].tokens.len() - 1,
                })
                .collect();
            for (sentence, (&index, wanted)) in batch.iter().zip(share(batch, &lengths)).enumerate() {
                let GenerateRequest { input_ids, options } = &requests[index];
                let (prompt, rows) = (options.prompt.len(), options.rows());
                let tokens = &results[index][0].tokens;
                let rows = sentence * rows..(sentence + 1) * rows;
                let run = &tokens[prompt - 1..tokens.len() - 1];
                let diverged = GenerateError::SearchDiverged { step: run.len(), row: rows.start };
                let path = paths.of(rows, run).ok_or(diverged)?;
                kept[index] = session.attention(self, sentence, [input_ids.len(), prompt], &path, &wanted)?;
            }
            self.idle.put(session);
            waiting = rest;
        }
        Ok((results, kept))
    }

    /// Checks requests and sorts them: similar lengths share a batch, so that little is padding. The longest go first: what
    /// a device has no room for fails at once rather than at the end, and what is left to do is never more than it seems.
    fn in_order(&self, requests: &[GenerateRequest]) -> Result<Vec<usize>, GenerateError> {
        for request in requests {
            self.check_request(request)?;
        }
        let mut order: Vec<usize> = (0..requests.len()).collect();
        order.sort_by_key(|&index| {
            let GenerateRequest { input_ids, options } = &requests[index];
            (options.batch_key(), Reverse(input_ids.len()))
        });
        Ok(order)
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

    /// How many of those that wait, from the first on, go into one batch.
    fn batch_size(&self, requests: &[GenerateRequest], waiting: &[usize], keep: Keep) -> usize {
        let key = |&index: &usize| requests[index].options.batch_key();
        let first = waiting.first().map(key);
        let candidates = waiting.iter().take_while(|index| Some(key(index)) == first);
        let elements = |count: usize, each: usize| count as u64 * each as u64;
        let config = &self.config;
        let qkv = |stack: &StackConfig| 2 * stack.key_width() + stack.value_width();
        // whichever stack reads the input
        let reader = if config.encoder.layers > 0 { &config.encoder } else { &config.decoder };
        let widest = reader.ffn_width.max(qkv(reader)).max(config.d_model);
        let decoder = &config.decoder;
        let queries = if keep == Keep::Attention { 2 * decoder.key_width() } else { 0 };
        let cached = decoder.key_width() + decoder.value_width() + queries;
        let (mut capacity, mut longest) = (0, 0);
        let mut size = 0;
        for &index in candidates {
            let request = &requests[index];
            let rows = (size + 1) * request.options.rows();
            longest = longest.max(padded_length(config, request.input_ids.len()));
            let source_tokens = (size + 1) * longest;
            capacity = capacity.max(cache_capacity(request.options.max_length));
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
        let Searched { session, left } = self.generate_queue(queue, cancel, Keep::Tree).await?;
        self.idle.put(session);
        let [hypotheses] = results;
        Ok(Exploration { hypotheses, tree: left.tree.unwrap_or_default() })
    }

    /// Searches for whoever is in a queue.
    async fn generate_queue(
        &self,
        queue: Queue<'_>,
        cancel: &Cancel,
        keep: Keep,
    ) -> Result<Searched, GenerateError> {
        let batch = queue.batch();
        let mut search = BatchSearch::new(batch.iter().map(|request| request.options.clone()).collect())?;
        match keep {
            Keep::Hypotheses => {}
            Keep::Tree => search.sentences_mut().iter_mut().for_each(SentenceSearch::keep_tree),
            Keep::Attention => search.keep_paths(),
        }
        let key = SessionKey::new(self, &batch, &search, queue.waiting(), keep == Keep::Attention);
        let mut session = match self.idle.take(&key) {
            Some(session) => session,
            None => {
                self.idle.make_room();
                DecodeSession::new(self, key)?
            }
        };
        match session.run(self, queue, search, cancel).await {
            Ok(left) => Ok(Searched { session, left }),
            Err(error) => {
                // a session is good for another batch whatever became of this one, unless the device failed
                if !matches!(error, GenerateError::Gpu(_)) {
                    self.idle.put(session);
                }
                Err(error)
            }
        }
    }
}
