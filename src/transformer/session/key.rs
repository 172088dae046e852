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
/// The CPU, where a length costs no more than a plan, encodes sources at their own length, up to this share.
const CPU_SHARE: usize = 16;
/// Smallest room for output columns, if not all tokens are computed.
const FEWEST_COLUMNS: usize = 256;

/// One in this many sentences is finished before others take over rows of a GPU. Fewer would cost launches, more would idle.
const NEXT_SHARE: usize = 8;
/// The most sources of a group on the CPU: one in four, or all of a small batch.
const CPU_NEXT_SHARE: usize = 4;
const SMALL_BATCH: usize = 8;

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
    /// Maximal number of sources that are encoded together, besides those of the whole batch; 0: none are.
    pub next: usize,
    /// Padded lengths at which these are encoded, ascending; the last one is `source_length`.
    pub next_lengths: Vec<usize>,
    /// Whether the sources of the batch are encoded in such groups, too.
    pub groups: bool,
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
        let follow = followers != Followers::None;
        let groups = in_groups(model, source_length, globals) && !attention;
        let draws = requests.iter().any(|request| request.options.sampling.is_some());
        Self {
            batch: requests.len(),
            source_length,
            globals,
            prompt_length: padded_prompt(config, longest(|request| request.options.before_last().len())),
            capacity,
            next: match (groups, follow) {
                (true, _) => requests.len().div_ceil(CPU_NEXT_SHARE).max(requests.len().min(SMALL_BATCH)),
                (false, true) => requests.len().div_ceil(NEXT_SHARE),
                (false, false) => 0,
            },
            next_lengths: match follow || groups {
                true => next_lengths(model, followers, source_length, globals),
                false => Vec::new(),
            },
            groups,
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
        Self { search: SearchKey::Device(search), next: 0, next_lengths: Vec::new(), groups: false, ..self }
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

/// Whether each group of a batch's sources can be encoded at its own length.
fn in_groups(model: &LoadedModel, source_length: usize, globals: usize) -> bool {
    model.device.gpu().is_none() && source_length > 0 && !sees_length(&model.config, globals)
}

/// The lengths at which groups of sources are encoded, so that a source has little padding: halves of the longest on a GPU,
/// which compiles programs for each, and in small steps on the CPU.
fn next_lengths(model: &LoadedModel, followers: Followers, longest: usize, globals: usize) -> Vec<usize> {
    let shorter: fn(usize) -> usize = match model.device {
        Device::Gpu(_) => |length| (length / 2).next_multiple_of(SOURCE_BUCKET),
        Device::Cpu => |length| length - (length / CPU_SHARE).max(1),
    };
    let shortest = match (in_groups(model, longest, globals), followers) {
        (true, _) => 1,
        (false, Followers::Mixed) if !sees_length(&model.config, globals) => SOURCE_BUCKET.min(longest),
        _ => longest,
    };
    let lengths = std::iter::successors(Some(longest), |&length| {
        (length > shortest).then(|| shorter(length).max(shortest))
    });
    let mut lengths: Vec<usize> = lengths.collect();
    lengths.reverse();
    lengths
}
