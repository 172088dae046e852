use std::cmp::Reverse;

use super::Transformer;
use super::error::GenerateError;
use super::global_states::most_globals;
use super::queue::Followers;
use super::request::{GenerateRequest, Keep};
use super::session::{cache_capacity, column_capacity, padded_length, sees_length};
use crate::Device;
use crate::cpu;
use crate::decode::DecodeOptions;
use crate::kernels::AdapterClass;
use crate::model::config::{Architecture, ModelConfig, StackConfig};
use crate::precision::WeightPrecision;
use crate::sorting;

/// Limits of a batch, besides memory.
struct Most {
    /// Rows: sentences × beams.
    rows: usize,
    sentences: usize,
    /// Source tokens, padding included.
    source_tokens: usize,
    /// Bytes of the caches.
    cache_bytes: u64,
}

impl Most {
    /// Each weight that is read serves all rows, until a device is busy: a processor soon, a GPU late.
    ///
    /// * `searches`: number of searches that share the device
    fn of(device: &Device, precision: WeightPrecision, searches: usize) -> Self {
        let Some(gpu) = device.gpu() else {
            return Self::of_cores(searches, precision);
        };
        // a discrete GPU has memory of its own; where it is less than this, batches halve
        let most_cached = if gpu.adapter().is_discrete() { 4 * CACHE_BYTES } else { CACHE_BYTES };
        let cache_bytes = most_cached.min(4 * CACHE_BYTES / searches as u64);
        match gpu.class() {
            AdapterClass::Software => Self { rows: 64, sentences: 64, source_tokens: 4096, cache_bytes },
            AdapterClass::Hardware => Self { rows: 512, sentences: 512, source_tokens: 16_384, cache_bytes },
        }
    }

    /// A core's rows should have their keys, values and logits in its own cache; then weights, which are read once for all
    /// rows, count the more, the larger they are. Measured: docs/performance.md, "Many short lines".
    fn of_cores(searches: usize, precision: WeightPrecision) -> Self {
        let cores = (cpu::cores() / searches).max(1);
        let (rows, sentences) = match precision {
            WeightPrecision::F32 | WeightPrecision::F16 => (64, 40),
            WeightPrecision::Q8 => (48, 24),
        };
        Self {
            rows: (rows * cores).min(128),
            sentences: (sentences * cores).min(64),
            source_tokens: 4096,
            cache_bytes: CACHE_BYTES.min(4 * CACHE_BYTES / searches as u64),
        }
    }
}

/// Bytes of one batch's caches; all batches that are searched at the same time have four times as much.
const CACHE_BYTES: u64 = 512 << 20;

impl Transformer {
    /// Checks requests and sorts them by length, for little padding; longest first, to fail early if memory is short.
    pub(super) fn in_order(&self, requests: &[GenerateRequest]) -> Result<Vec<usize>, GenerateError> {
        for request in requests {
            self.check_request(request)?;
        }
        let mut order: Vec<usize> = (0..requests.len()).collect();
        sorting::sort_by_key(&mut order, |&index| {
            let GenerateRequest { input_ids, options, .. } = &requests[index];
            (options.batch_key(), Reverse(input_ids.len()))
        });
        Ok(order)
    }

    /// Maximal number of sentences of a batch, and of its rows.
    pub(super) fn most_sentences_and_rows(&self) -> [usize; 2] {
        let Most { rows, sentences, .. } = Most::of(&self.device(), self.precision(), 1);
        [sentences, rows].map(|most| most.min(self.recovery.most_sentences()))
    }

    /// Rows of the `waiting` requests, from the first on, that can share batches.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn rows_alike(&self, requests: &[GenerateRequest], waiting: &[usize]) -> usize {
        let key = |&index: &usize| requests[index].options.batch_key();
        let first = waiting.first().map(key);
        let alike = waiting.iter().take_while(|index| Some(key(index)) == first);
        alike.map(|&index| requests[index].options.rows()).sum()
    }

    /// Number of `waiting` requests, from the first on, for one batch of `searches` at the same time.
    pub(super) fn batch_size(
        &self,
        requests: &[GenerateRequest],
        waiting: &[usize],
        keep: &Keep,
        searches: usize,
    ) -> usize {
        let key = |&index: &usize| requests[index].options.batch_key();
        let first = waiting.first().map(key);
        let candidates = waiting.iter().take_while(|index| Some(key(index)) == first);
        let elements = |count: usize, each: usize| count as u64 * each as u64;
        let config = &self.host.config;
        let qkv = |stack: &StackConfig| 2 * stack.key_width() + stack.value_width();
        // the stack that reads the input
        let reader = if config.encoder.layers > 0 { &config.encoder } else { &config.decoder };
        let widest = reader.ffn_width.max(qkv(reader)).max(config.d_model);
        let decoder = &config.decoder;
        let queries = if keep.attention.is_some() { 2 * decoder.key_width() } else { 0 };
        let cached = config.cached_width() + queries;
        let most = self.recovery.most_sentences();
        let device = self.device();
        let largest_buffer = device.max_buffer_bytes();
        let limits = Most::of(&device, self.precision(), searches);
        let (mut capacity, mut longest) = (0, 0);
        let mut size = 0;
        for &index in candidates {
            let request = &requests[index];
            let rows = (size + 1) * request.options.rows();
            longest = longest.max(padded_length(config, request.input_ids.len()));
            let source_tokens = (size + 1) * longest;
            capacity = capacity.max(cache_capacity(request.options.max_length));
            let cache = elements(rows * capacity, cached);
            let buffers = [
                cache,
                elements(rows, config.target_vocabulary),
                elements(rows, selection_words(&request.options)),
                elements(source_tokens, widest),
            ];
            let largest = buffers.into_iter().fold(0, u64::max);
            let fits = rows <= limits.rows
                && size < limits.sentences
                && source_tokens <= limits.source_tokens
                && 4 * config.decoder.layers as u64 * cache <= limits.cache_bytes
                && 4 * largest <= largest_buffer
                && size < most;
            if size > 0 && !fits {
                break;
            }
            size += 1;
        }
        size
    }

    /// The `waiting` requests as `searches` batches and those that take over rows of any of them: their numbers, in
    /// order, and the kind of the latter.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn batches(
        &self,
        requests: &[GenerateRequest],
        waiting: &[usize],
        searches: usize,
    ) -> (Vec<usize>, (usize, Followers)) {
        let mut sizes = Vec::with_capacity(searches);
        let mut left = waiting;
        for search in 0..searches {
            let share = left.len().div_ceil(searches - search);
            let size = self.batch_size(requests, left, &Keep::default(), searches).min(share);
            sizes.push(size);
            left = &left[size..];
        }
        let mut first = 0;
        let followers = sizes.iter().map(|size| {
            first += size;
            self.followers(requests, &waiting[first - size..first], left)
        });
        let fewest = followers.min_by_key(|(count, _)| *count).unwrap_or((0, Followers::None));
        (sizes, fewest)
    }

    /// Number of `waiting` requests, from the first on, that can take over rows of the batch, for which it has room, and
    /// their kind. On a GPU they need no more padding than the batch, because a step reads all keys of a source. The CPU
    /// skips padding. Both lists are indices into `requests`, the longest first.
    pub(super) fn followers(
        &self,
        requests: &[GenerateRequest],
        batch: &[usize],
        waiting: &[usize],
    ) -> (usize, Followers) {
        let none = (0, Followers::None);
        if self.recovery.most_sentences() < usize::MAX {
            return none; // there is no memory for others that wait
        }
        let batch: Vec<&GenerateRequest> = batch.iter().map(|&index| &requests[index]).collect();
        let Some(room) = self.room(&batch) else { return none };
        let config = &self.host.config;
        let mixed = self.model().device.gpu().is_none() && !sees_length(config, room.globals);
        let follows = |&&index: &&usize| {
            let padded = padded_length(config, requests[index].input_ids.len());
            (mixed || padded == room.source_length) && room.fits(config, &requests[index])
        };
        match waiting.iter().take_while(follows).count() {
            0 => none,
            count if mixed => (count, Followers::Mixed),
            count => (count, Followers::Alike),
        }
    }

    /// The requests that can take over rows of a batch. `None` if none can.
    pub(super) fn room(&self, batch: &[&GenerateRequest]) -> Option<Room> {
        let config = &self.host.config;
        let (Some(first), Architecture::EncoderDecoder) = (batch.first(), config.architecture()) else {
            return None;
        };
        if batch.iter().any(|request| request.options.prompt.len() > 1) {
            return None; // prompts are read for all rows at once
        }
        let longest = batch.iter().map(|request| request.input_ids.len()).max().unwrap_or(0);
        Some(Room {
            options: first.options.clone(),
            source_length: padded_length(config, longest),
            max_length: batch.iter().map(|request| request.options.max_length).max().unwrap_or(0),
            columns: column_capacity(config, batch.iter().copied()),
            wanted: batch.iter().map(|request| request.options.wanted()).max().unwrap_or(0),
            globals: most_globals(config, batch.iter().map(|request| &request.global_tokens[..])),
        })
    }
}

/// Words of a row's lists of candidates on a software adapter: as many lists as candidates, with values and tokens.
fn selection_words(options: &DecodeOptions) -> usize {
    let candidates = options.num_beams + options.eos.len();
    2 * candidates * candidates
}

/// The room of a batch's rows.
pub(super) struct Room {
    /// Options of the first request: others may differ in length, columns and terms only.
    options: DecodeOptions,
    /// Padded tokens of a source.
    pub source_length: usize,
    pub max_length: usize,
    columns: usize,
    /// Tokens of terms that each step can ask for.
    wanted: usize,
    globals: usize,
}

impl Room {
    /// Whether a request can take over rows.
    pub fn fits(&self, config: &ModelConfig, request: &GenerateRequest) -> bool {
        let GenerateRequest { input_ids, options, global_tokens } = request;
        let listed = options.columns.listed().map_or(0, |list| list.len());
        padded_length(config, input_ids.len()) <= self.source_length
            && global_tokens.len() <= self.globals
            && options.max_length <= self.max_length
            && listed <= self.columns
            && options.wanted() <= self.wanted
            && self.searches_as(options)
    }

    /// Whether the options differ in length, columns and terms only, and have terms, or not, as the batch does.
    pub fn searches_as(&self, options: &DecodeOptions) -> bool {
        let as_first = DecodeOptions {
            max_length: self.options.max_length,
            columns: self.options.columns.clone(),
            constraints: match options.constraints {
                Some(_) => self.options.constraints.clone(),
                None => None,
            },
            ..options.clone()
        };
        as_first == self.options
    }
}
