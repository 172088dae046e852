use crate::decode::BatchSearch;
use crate::device::Device;
use crate::model::config::{Architecture, ModelConfig};
use crate::scores::TopKShape;
use crate::transformer::device_search::DeviceSearchKey;
use crate::transformer::global_states::most_globals;
use crate::transformer::host_search::HostSearchKey;
use crate::transformer::loaded::LoadedModel;
use crate::transformer::queue::Followers;
use crate::transformer::request::GenerateRequest;

/// Source lengths and cache capacities are multiples of these, so that similar batches share a session.
const SOURCE_BUCKET: usize = 8;
const CAPACITY_BUCKET: usize = 32;
/// The CPU encodes sources at more lengths: in steps of an eighth of the length, in multiples of this.
const CPU_BUCKET: usize = 4;
const CPU_SHARE: usize = 8;
/// Smallest room for output columns, if not all tokens are computed.
const FEWEST_COLUMNS: usize = 256;

/// One in this many sentences is finished before others take over rows. Fewer would cost launches, more would idle.
const NEXT_SHARE: usize = 8;

/// Padded length of a source of `length` tokens.
pub fn padded_length(config: &ModelConfig, length: usize) -> usize {
    length.next_multiple_of(SOURCE_BUCKET).min(config.source_positions().count())
}

/// Padded length of a prompt of `length` tokens.
fn padded_prompt(config: &ModelConfig, length: usize) -> usize {
    length.next_multiple_of(SOURCE_BUCKET).min(config.positions.count())
}

/// Cache slots of a row with at most `max_length` tokens.
pub fn cache_capacity(max_length: usize) -> usize {
    max_length.next_multiple_of(CAPACITY_BUCKET)
}

/// Output columns of a row, with room: 0 if all tokens are computed. `requests` are of one batch.
pub fn column_capacity<'r>(
    config: &ModelConfig,
    requests: impl IntoIterator<Item = &'r GenerateRequest>,
) -> usize {
    let listed = requests.into_iter().filter_map(|request| request.options.columns.listed());
    match listed.map(|columns| columns.len()).max() {
        Some(most) => most.next_power_of_two().max(FEWEST_COLUMNS).min(config.target_vocabulary),
        None => 0,
    }
}

/// The shape of a session: batches with equal keys can share one.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionKey {
    /// Number of sentences.
    pub batch: usize,
    /// Padded tokens of each source; 0 without an encoder.
    pub source_length: usize,
    /// Room for the global tokens of each source.
    pub globals: usize,
    /// Padded tokens of the longest prompt, without its last. Mostly 0.
    pub prompt_length: usize,
    /// Cache slots of each row.
    pub capacity: usize,
    /// Maximal number of sentences that are encoded while others are decoded.
    pub next: usize,
    /// Padded lengths at which these are encoded, ascending; the last one is `source_length`.
    pub next_lengths: Vec<usize>,
    /// Room for output columns of each row; 0: all tokens are computed.
    pub columns: usize,
    pub scoring: TopKShape,
    pub search: SearchKey,
    /// Whether the session keeps the inputs of attention weights.
    pub attention: bool,
}

/// The place of the search, and the shapes of its states.
#[derive(Clone, Debug, PartialEq)]
pub enum SearchKey {
    Host(HostSearchKey),
    Device(DeviceSearchKey),
}

impl SessionKey {
    /// * `attention`: whether attention weights are needed
    pub fn new(
        model: &LoadedModel,
        requests: &[&GenerateRequest],
        search: &BatchSearch,
        followers: Followers,
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
        let columns = column_capacity(config, requests.iter().copied());
        let scoring = TopKShape {
            rows: search.rows(),
            vocabulary: if columns == 0 { config.target_vocabulary } else { columns },
            candidates: search.candidates(),
            rules: search.rules(),
        };
        let with_terms = search.wanted() > 0;
        let globals = most_globals(config, requests.iter().map(|request| &request.global_tokens[..]));
        let heads = model.config.decoder.heads;
        let draws = requests.iter().any(|request| request.options.sampling.is_some());
        Self {
            batch: requests.len(),
            source_length,
            globals,
            prompt_length: padded_prompt(config, longest(|request| request.options.before_last().len())),
            capacity,
            next: if followers == Followers::None { 0 } else { requests.len().div_ceil(NEXT_SHARE) },
            next_lengths: next_lengths(model, followers, source_length, globals),
            columns,
            scoring,
            search: match model.device {
                Device::Gpu(_) if !draws && !with_terms => {
                    SearchKey::Device(DeviceSearchKey::new(config, requests, &scoring, capacity))
                }
                _ => {
                    let source = (source_length > 0).then_some([source_length, heads]);
                    SearchKey::Host(HostSearchKey::new(search, source))
                }
            },
            attention,
        }
    }

    /// The same with the search on a GPU, on any device.
    pub fn on_gpu(self, config: &ModelConfig, requests: &[&GenerateRequest]) -> Self {
        let search = DeviceSearchKey::new(config, requests, &self.scoring, self.capacity);
        Self { search: SearchKey::Device(search), ..self }
    }

    /// Rows of each sentence.
    pub fn rows_each(&self) -> usize {
        self.scoring.rows / self.batch
    }
}

/// Whether what a token sees depends on the padded length: with blocks and global tokens.
pub fn sees_length(config: &ModelConfig, globals: usize) -> bool {
    globals > 0 || config.block_tokens.is_some() || config.encoder_blocks().is_some()
}

/// The lengths at which sources of requests are encoded, down to a bucket, so that a source has little padding: halves of
/// the longest on a GPU, which compiles programs for each, and in smaller steps on the CPU.
fn next_lengths(model: &LoadedModel, followers: Followers, longest: usize, globals: usize) -> Vec<usize> {
    let (bucket, shorter): (_, fn(usize) -> usize) = match model.device {
        Device::Gpu(_) => (SOURCE_BUCKET, |length| (length / 2).next_multiple_of(SOURCE_BUCKET)),
        Device::Cpu => (CPU_BUCKET, |length| (length - length.div_ceil(CPU_SHARE)) / CPU_BUCKET * CPU_BUCKET),
    };
    let shortest = match followers {
        Followers::None => return Vec::new(),
        Followers::Mixed if !sees_length(&model.config, globals) => bucket.min(longest),
        _ => longest,
    };
    let lengths = std::iter::successors(Some(longest), |&length| {
        (length > shortest).then(|| shorter(length).max(shortest))
    });
    let mut lengths: Vec<usize> = lengths.collect();
    lengths.reverse();
    lengths
}
