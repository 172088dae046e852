//! What a session is made for: batches of one shape.

use crate::decode::BatchSearch;
use crate::device::Device;
use crate::model::config::{Architecture, ModelConfig};
use crate::scores::TopKShape;
use crate::transformer::device_search::DeviceSearchKey;
use crate::transformer::host_search::HostSearchKey;
use crate::transformer::loaded::LoadedModel;
use crate::transformer::request::GenerateRequest;

/// Source lengths and cache capacities are rounded up to these, so that similar batches share a session.
const SOURCE_BUCKET: usize = 8;
const CAPACITY_BUCKET: usize = 32;

/// One in so many sentences of a batch has to be done before others take over their rows: seldom enough that encoding
/// them is worth its launches, and soon enough that few rows idle.
const NEXT_SHARE: usize = 8;

/// The length that a sequence of `length` tokens is padded to.
pub fn padded_length(config: &ModelConfig, length: usize) -> usize {
    length.next_multiple_of(SOURCE_BUCKET).min(config.positions.count())
}

/// Cache positions of a row with at most `max_length` tokens.
pub fn cache_capacity(max_length: usize) -> usize {
    max_length.next_multiple_of(CAPACITY_BUCKET)
}

/// The shape of a session: batches with equal keys can share one.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionKey {
    /// Sentences.
    pub batch: usize,
    /// Tokens of each source, padded; 0 without an encoder.
    pub source_length: usize,
    /// Tokens of the longest prompt but its last, padded: what the decoder reads before its first step. Mostly 0.
    pub prompt_length: usize,
    /// Cache positions of each row.
    pub capacity: usize,
    /// Sentences that can be encoded while others are decoded; 0 where none follow.
    pub next: usize,
    pub scoring: TopKShape,
    pub search: SearchKey,
    /// Whether the session keeps what attention weights are computed from.
    pub attention: bool,
}

/// Where the search runs, and what its states depend on.
#[derive(Clone, Debug, PartialEq)]
pub enum SearchKey {
    Host(HostSearchKey),
    Device(DeviceSearchKey),
}

impl SessionKey {
    /// * `waiting`: requests that will take over rows of this batch
    /// * `attention`: whether attention weights will be asked for
    pub fn new(
        model: &LoadedModel,
        requests: &[&GenerateRequest],
        search: &BatchSearch,
        waiting: usize,
        attention: bool,
    ) -> Self {
        let config = &model.config;
        let longest = |length: fn(&GenerateRequest) -> usize| {
            requests.iter().map(|request| length(request)).max().unwrap_or(1)
        };
        let source_length = match config.architecture() {
            Architecture::DecoderOnly => 0,
            _ => padded_length(config, longest(|request| request.input_ids.len())),
        };
        let capacity = cache_capacity(longest(|request| request.options.max_length));
        let scoring = TopKShape {
            rows: search.rows(),
            vocabulary: config.target_vocabulary,
            candidates: search.candidates(),
            rules: search.rules(),
        };
        let draws = requests.iter().any(|request| request.options.sampling.is_some());
        Self {
            batch: requests.len(),
            source_length,
            prompt_length: padded_length(config, longest(|request| request.options.before_last().len())),
            capacity,
            next: if waiting == 0 { 0 } else { requests.len().div_ceil(NEXT_SHARE) },
            scoring,
            search: match model.device {
                Device::Gpu(_) if !draws => {
                    SearchKey::Device(DeviceSearchKey::new(config, requests, &scoring, capacity))
                }
                _ => SearchKey::Host(HostSearchKey::new(search)),
            },
            attention,
        }
    }

    /// The same with the search on a GPU, wherever the model is.
    pub fn on_gpu(self, config: &ModelConfig, requests: &[&GenerateRequest]) -> Self {
        let search = DeviceSearchKey::new(config, requests, &self.scoring, self.capacity);
        Self { search: SearchKey::Device(search), ..self }
    }

    /// Rows of each sentence.
    pub fn rows_each(&self) -> usize {
        self.scoring.rows / self.batch
    }
}
