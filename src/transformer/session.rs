//! One batch on the device: the encoder's program and the prompt's, run once, and the decoder's step, replayed.
//!
//! On a GPU greedy and beam search run on the device ([`DeviceSearch`]): several steps go into one submit, and the host
//! follows by a record of them. On the CPU, and where samples are drawn, the host searches between two steps
//! ([`HostSearch`]): the best few candidates of each row come down, and a token and a cache position per row go up.
//!
//! Where more requests wait than there are rows for, the sources of the next are encoded while others are decoded, and take
//! over the rows of sentences that are done.

use std::sync::{Mutex, PoisonError};

use super::Transformer;
use super::cancel::Cancel;
use super::device_search::{DeviceSearch, DeviceSearchKey};
use super::forward::{KeptAttention, Wanted};
use super::generate::{GenerateError, GenerateRequest};
use super::host_search::{HostSearch, HostSearchKey};
use super::input_states::InputStates;
use super::looking::{Keys, Looking, Place};
use super::queue::Queue;
use crate::decode::{BatchSearch, Paths, SearchTree, SentenceSearch, StepRequest};
use crate::device::Device;
use crate::graph::{Graph, Plan, RowCopy, Session, State, StateTable};
use crate::model::config::{Architecture, ModelConfig};
use crate::model::decoder::{History, decoder, memory_key_values, output};
use crate::model::embedding::Tokens;
use crate::model::encoder::encoder;
use crate::model::{Cache, Memory, Taps};
use crate::scores::TopKShape;

/// Memory of the sessions kept for later batches, bytes: enough for sentences that come one by one.
const MAX_IDLE_BYTES: usize = 32 << 20;
/// That of the newest alone, as long as no other is made: for somebody who types on, texts of some sentences come again and
/// again. Larger batches make theirs anew, which is little beside their run.
const MAX_NEWEST_BYTES: usize = 128 << 20;
/// Source lengths and cache capacities are rounded up to these, so that similar batches share a session.
const SOURCE_BUCKET: usize = 8;
const CAPACITY_BUCKET: usize = 32;

/// When a sentence in so many of a batch is done, others take their place: seldom enough that encoding them is worth its
/// launches, and soon enough that few rows idle.
const NEXT_SHARE: usize = 8;

/// What a sequence of `length` tokens is padded to.
pub(super) fn padded_length(config: &ModelConfig, length: usize) -> usize {
    length.next_multiple_of(SOURCE_BUCKET).min(config.positions.count())
}

/// Cache positions of a row, for at most so many tokens.
pub(super) fn cache_capacity(max_length: usize) -> usize {
    max_length.next_multiple_of(CAPACITY_BUCKET)
}

/// What a session is made for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SessionKey {
    batch: usize,
    /// Padded; 0 without an encoder.
    source_length: usize,
    /// Tokens of the longest prompt but its last, padded: what the decoder reads before its first step. Mostly 0.
    prompt_length: usize,
    /// Cache positions of each row.
    capacity: usize,
    /// Sentences whose memory can be made ready while others are decoded; 0 where none follow.
    next: usize,
    scoring: TopKShape,
    search: SearchPlace,
    /// Whether attention can be computed from what it keeps.
    attention: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum SearchPlace {
    Host(HostSearchKey),
    Device(DeviceSearchKey),
}

impl SessionKey {
    /// * `waiting`: requests that will take the place of those that are done
    /// * `attention`: whether somebody is going to ask for that
    pub fn new(
        transformer: &Transformer,
        requests: &[&GenerateRequest],
        search: &BatchSearch,
        waiting: usize,
        attention: bool,
    ) -> Self {
        let config = &transformer.config;
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
            prompt_length: padded_length(config, longest(|request| before_last(prompt(request)).len())),
            capacity,
            next: if waiting == 0 { 0 } else { requests.len().div_ceil(NEXT_SHARE) },
            scoring,
            search: match transformer.device {
                Device::Gpu(_) if !draws => {
                    SearchPlace::Device(DeviceSearchKey::new(config, requests, &scoring, capacity))
                }
                _ => SearchPlace::Host(HostSearchKey::new(search)),
            },
            attention,
        }
    }
}

/// What the decoder is given before it chooses tokens.
fn prompt(request: &GenerateRequest) -> &[u32] {
    &request.options.prompt
}

/// The first step reads the last token of a prompt; the others come before it.
pub(super) fn before_last(prompt: &[u32]) -> &[u32] {
    prompt.split_last().map_or(&[], |(_, before)| before)
}

/// Sessions of earlier batches, for batches of the same shape.
#[derive(Default)]
pub(super) struct IdleSessions(Mutex<Vec<DecodeSession>>);

impl IdleSessions {
    pub fn take(&self, key: &SessionKey) -> Option<DecodeSession> {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = idle.iter().position(|session| session.key == *key)?;
        Some(idle.remove(index))
    }

    pub fn put(&self, session: DecodeSession) {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let spared = usize::from(session.bytes <= MAX_NEWEST_BYTES);
        idle.push(session);
        trim(&mut idle, spared);
    }

    /// Gives memory back before another session is made.
    pub fn make_room(&self) {
        trim(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner), 0);
    }
}

/// Drops the oldest sessions, as far as there are too many, but for the newest that are `spared`.
fn trim(idle: &mut Vec<DecodeSession>, spared: usize) {
    while idle.len() > spared && idle.iter().map(|session| session.bytes).sum::<usize>() > MAX_IDLE_BYTES {
        idle.remove(0);
    }
}

/// The device's half of a batch: buffers and programs, made once, good for every batch of the same shape.
pub(super) struct DecodeSession {
    key: SessionKey,
    /// Of its states.
    bytes: usize,
    session: Session,
    source: Option<InputStates>,
    /// What cross-attention reads, for each layer: `[batch * source length, keys and values]`.
    memory: Vec<State>,
    next: Option<NextStates>,
    prompt: Option<PromptStates>,
    rows: Rows,
    search: Search,
    caches: Vec<Cache>,
    looking: Option<Looking>,
}

/// What a search leaves besides its hypotheses, where that was to be kept.
pub(super) struct Left {
    /// The first sentence's.
    pub tree: Option<SearchTree>,
    /// Which rows ran what.
    pub paths: Option<Paths>,
}

enum Search {
    Host(HostSearch),
    Device(Box<DeviceSearch>),
}

/// Sources that are encoded while others are decoded.
struct NextStates {
    input: InputStates,
    /// As the session's own, for fewer sentences.
    memory: Vec<State>,
    /// Whose memory is there, in this order.
    ready: Vec<usize>,
}

struct PromptStates {
    input: InputStates,
    /// Where in the caches each token's keys and values go.
    cache_slots: State,
}

/// What the step reads of each row; u32.
#[derive(Clone, Copy)]
pub(super) struct RowStates {
    /// `[rows, 1]`
    pub tokens: State,
    /// `[rows, 1]`: rows of the position table
    pub positions: State,
    /// `[rows, 1]`: where keys and values go
    pub cache_slots: State,
    /// `[rows, capacity]`: where those of each row's history are
    pub slots: State,
    /// `[rows, 1]`: how many of them there are
    pub key_counts: State,
}

/// The rows as the host knows them; kept so that a step allocates nothing.
pub(super) struct Rows {
    states: RowStates,
    capacity: usize,
    /// For each row, how many tokens of its prompt come before the last.
    histories: Vec<usize>,
    positions: Vec<u32>,
    cache_slots: Vec<u32>,
    key_counts: Vec<u32>,
    slots: Vec<u32>,
    previous_slots: Vec<u32>,
}

/// The step is the first program, because every session has it.
const STEP: usize = 0;

impl DecodeSession {
    pub fn new(transformer: &Transformer, key: SessionKey) -> Result<Self, GenerateError> {
        let config = &transformer.config;
        let blueprint = &transformer.blueprint;
        let SessionKey { batch, source_length, prompt_length, capacity, next, .. } = key;
        let rows = key.scoring.rows;
        let stack = config.decoder;

        let mut states = StateTable::default();
        let mut programs = STEP + 1;
        let mut input = |states: &mut StateTable, name, batch, length| {
            (batch * length > 0).then(|| {
                let input = InputStates::new(states, name, (batch, length), programs);
                programs += 1;
                input
            })
        };
        let source = input(&mut states, "source", batch, source_length);
        let next_source = input(&mut states, "next source", next, source_length);
        let prompt = input(&mut states, "prompt", batch, prompt_length).map(|input| PromptStates {
            cache_slots: states.u32("prompt's cache slots", batch * prompt_length, 1),
            input,
        });
        let row_states = RowStates {
            tokens: states.u32("tokens", rows, 1),
            positions: states.u32("positions", rows, 1),
            cache_slots: states.u32("cache slots", rows, 1),
            slots: states.u32("slots", rows, capacity),
            key_counts: states.u32("key counts", rows, 1),
        };
        let search = match &key.search {
            SearchPlace::Host(search) => Search::Host(HostSearch::new(*search, &key.scoring, &mut states)),
            SearchPlace::Device(search) => {
                let work = transformer.parameters() * rows;
                let class = transformer.device.class();
                let search = DeviceSearch::new(search.clone(), &mut states, &row_states, class, work);
                Search::Device(Box::new(search))
            }
        };
        let memory_layers = if source.is_some() { stack.layers } else { 0 };
        let memory_width = stack.key_width() + stack.value_width();
        let memory_of = |states: &mut StateTable, name: &str, batch: usize| -> Vec<State> {
            (0..memory_layers)
                .map(|layer| states.f32(format!("{name} {layer}"), batch * source_length, memory_width))
                .collect()
        };
        let memory_states = memory_of(&mut states, "memory", batch);
        let next = next_source.map(|input| NextStates {
            input,
            memory: memory_of(&mut states, "next memory", next),
            ready: Vec::new(),
        });
        let looking = key
            .attention
            .then(|| Looking::new(&mut states, transformer, batch * source_length, rows * capacity));
        let caches: Vec<Cache> = (0..stack.layers)
            .map(|layer| Cache {
                keys: states.f32(format!("key cache {layer}"), rows * capacity, stack.key_width()),
                values: states.f32(format!("value cache {layer}"), rows * capacity, stack.value_width()),
                cache_slots: row_states.cache_slots,
                slots: row_states.slots,
                key_counts: row_states.key_counts,
            })
            .collect();
        let memories = |g: &mut Graph| match &source {
            Some(source) => {
                let (_, sequences) = source.values(g, batch);
                memory_states.iter().map(|&state| Memory { key_values: g.state(state), sequences }).collect()
            }
            None => Vec::new(),
        };

        let mut step = Graph::new("decode step");
        let g = &mut step;
        let memory = memories(g);
        let target =
            Tokens { ids: g.state(row_states.tokens), positions: g.state(row_states.positions), types: None };
        let history = History::Cached(&caches);
        let decoded = decoder(g, config, blueprint, target, &history, &memory, Taps::default())?;
        if let Some(looking) = &looking {
            looking.keep(g, &decoded.queries, row_states.cache_slots)?;
        }
        let logits = output(g, config, blueprint, decoded.last)?;
        match &search {
            Search::Host(search) => search.add_to(g, logits)?,
            Search::Device(search) => search.add_to(g, logits)?,
        }
        let mut plans = vec![Plan::new(step)];

        let encode = |label: &str, source: &InputStates, batch: usize, memory_states: &[State]| {
            let mut encode = Graph::new(label);
            let g = &mut encode;
            let (tokens, sequences) = source.values(g, batch);
            let projections =
                looking.as_ref().map(|looking| looking.projections.as_slice()).unwrap_or_default();
            let taps = Taps { projections, ..Taps::default() };
            let memory = encoder(g, config, blueprint, tokens, &sequences, taps)?;
            for (key_values, &state) in
                memory_key_values(g, blueprint, memory)?.into_iter().zip(memory_states)
            {
                g.keep(key_values, state)?;
            }
            Ok::<_, GenerateError>(Plan::new(encode))
        };
        if let Some(source) = &source {
            plans.push(encode("encode", source, batch, &memory_states)?);
        }
        if let Some(NextStates { input, memory, .. }) = &next {
            plans.push(encode("encode the next", input, key.next, memory)?);
        }
        if let Some(PromptStates { input, cache_slots }) = &prompt {
            let mut read = Graph::new("prompt");
            let g = &mut read;
            let caches: Vec<Cache> =
                caches.iter().map(|&cache| Cache { cache_slots: *cache_slots, ..cache }).collect();
            let memory = memories(g);
            let (tokens, sequences) = input.values(g, batch);
            let history = History::Prompt(sequences, &caches);
            let decoded = decoder(g, config, blueprint, tokens, &history, &memory, Taps::default())?;
            if let Some(looking) = &looking {
                looking.keep(g, &decoded.queries, *cache_slots)?;
            }
            plans.push(Plan::new(read));
        }

        let session = Session::new(&transformer.device, &transformer.weights, &states, plans)?;
        Ok(Self {
            session,
            bytes: states.bytes(),
            source,
            memory: memory_states,
            next,
            prompt,
            rows: Rows::new(row_states, capacity),
            search,
            caches,
            looking,
            key,
        })
    }

    pub async fn run(
        &mut self,
        transformer: &Transformer,
        mut queue: Queue<'_>,
        mut search: BatchSearch,
        cancel: &Cancel,
    ) -> Result<Left, GenerateError> {
        self.begin(transformer, &queue.batch(), &mut search);
        self.encode_next(transformer, &mut queue);
        while !(search.is_finished() && self.seats_all()) {
            if cancel.listen().await {
                return Err(GenerateError::Cancelled);
            }
            self.seat_next(transformer, &mut queue, &mut search)?;
            queue.show(&search);
            let step = self.session.program(STEP);
            match &mut self.search {
                Search::Device(device) => {
                    device.follow(&mut self.session, step, &mut search, &mut queue).await?;
                }
                Search::Host(host) => {
                    self.rows.write(&mut self.session, &transformer.config, &search.step());
                    host.advance(&mut self.session, &transformer.weights, step, &mut search).await?;
                }
            }
        }
        let tree = search.sentences_mut().first_mut().and_then(SentenceSearch::take_tree);
        let paths = search.take_paths();
        queue.finish(search);
        Ok(Left { tree, paths })
    }

    /// Has the device compute attention weights of a hypothesis that the last run found, from what the run has left; they
    /// stay there.
    ///
    /// * `source`: tokens of its source
    /// * `prompt`: tokens that the hypothesis begins with and were given
    /// * `path`: the row that ran each token, from the prompt's last on
    ///
    /// # Panics
    /// When the session was not made for it.
    pub fn attention(
        &self,
        transformer: &Transformer,
        sentence: usize,
        [source, prompt]: [usize; 2],
        path: &[usize],
        wanted: &Wanted,
    ) -> Result<KeptAttention, GenerateError> {
        let SessionKey { source_length, capacity, batch, scoring, .. } = &self.key;
        let looking = self.looking.as_ref().expect("made to be looked at");
        let before = prompt - 1; // read into the cache of the sentence's first row
        let first = sentence * (scoring.rows / batch) * capacity;
        let steps = path.iter().enumerate().map(|(step, row)| row * capacity + before + step);
        let place = Place {
            source: sentence * source_length..sentence * source_length + source,
            slots: (first..first + before).chain(steps).collect(),
        };
        let caches: Vec<State> = self.caches.iter().map(|cache| cache.keys).collect();
        let keys = Keys { caches: &caches, memory: &self.memory };
        looking.attention(transformer, &self.session, &keys, &place, wanted)
    }

    /// Whether all that wanted rows have them.
    fn seats_all(&self) -> bool {
        let searched = match &self.search {
            Search::Device(device) => device.seats_all(),
            Search::Host(_) => true,
        };
        searched && self.next.as_ref().is_none_or(|next| next.ready.is_empty())
    }

    /// Has the sources that come next encoded, after what the device is doing.
    fn encode_next(&mut self, transformer: &Transformer, queue: &mut Queue<'_>) {
        let Some(NextStates { input, ready, .. }) = &mut self.next else { return };
        ready.extend(queue.next(self.key.next));
        if !ready.is_empty() {
            let sources = ready.iter().map(|&index| queue.request(index).input_ids.as_slice());
            input.write(&mut self.session, &transformer.config, sources);
            self.session.run(self.session.program(input.program), &transformer.weights);
        }
    }

    /// Gives the rows of sentences that are done to those whose memory is ready, if there are enough for all of these.
    fn seat_next(
        &mut self,
        transformer: &Transformer,
        queue: &mut Queue<'_>,
        search: &mut BatchSearch,
    ) -> Result<(), GenerateError> {
        let Self { session, memory, source, next, rows, .. } = self;
        let (Some(source), Some(NextStates { memory: next_memory, ready, .. })) = (source, next) else {
            return Ok(());
        };
        let promised = |sentence: usize| match &self.search {
            Search::Device(device) => device.has_promised(sentence),
            Search::Host(_) => false,
        };
        let finished = search.sentences().iter().map(SentenceSearch::is_finished).enumerate();
        let free = || {
            let free = finished.clone().filter(|&(sentence, finished)| finished && !promised(sentence));
            free.map(|(sentence, _)| sentence)
        };
        if ready.is_empty() || free().count() < ready.len() {
            return Ok(());
        }
        let seats: Vec<(usize, usize)> = free().zip(ready.drain(..)).collect();
        let length = source.length;
        let copies = seats.iter().enumerate().flat_map(|(place, &(sentence, _))| {
            let layers = next_memory.iter().zip(memory.iter());
            layers.map(move |(&from, &to)| RowCopy {
                from,
                first: place * length,
                to,
                at: sentence * length,
                rows: length,
            })
        });
        session.copy_rows(&copies.collect::<Vec<_>>());
        for (sentence, index) in seats {
            let request = queue.request(index);
            source.write_mask(session, sentence, request.input_ids.len());
            rows.seat(session, &transformer.config, sentence, search.rows_per_sentence(), prompt(request));
            match &mut self.search {
                Search::Device(device) => device.seat(session, sentence, index, request),
                Search::Host(_) => {
                    let finished = search.replace(sentence, request.options.clone())?;
                    queue.seat(sentence, index, finished);
                }
            }
        }
        self.encode_next(transformer, queue);
        Ok(())
    }

    /// Submits every program once, so that everything they need is compiled.
    pub fn rehearse(
        &mut self,
        transformer: &Transformer,
        request: &GenerateRequest,
        search: &mut BatchSearch,
    ) {
        self.begin(transformer, &[request], search);
        self.rows.write(&mut self.session, &transformer.config, &search.step());
        self.session.run(self.session.program(STEP), &transformer.weights);
    }

    /// Runs the sources through the encoder, and the prompts, but for their last tokens, through the decoder; readies the
    /// search.
    fn begin(&mut self, transformer: &Transformer, requests: &[&GenerateRequest], search: &mut BatchSearch) {
        let (config, weights) = (&transformer.config, &transformer.weights);
        let prompts = requests.iter().map(|request| before_last(prompt(request)));
        let rows_each = self.key.scoring.rows / requests.len();
        let session = &mut self.session;
        if let Some(next) = &mut self.next {
            next.ready.clear();
        }
        self.rows.reset(session, prompts.clone().map(<[u32]>::len), rows_each);
        if let Some(source) = &self.source {
            let sources = requests.iter().map(|request| request.input_ids.as_slice());
            source.write(session, config, sources);
            session.run(session.program(source.program), weights);
        }
        if let Some(PromptStates { input, cache_slots }) = &self.prompt {
            // into the cache of each sentence's first row; padding goes nowhere
            let capacity = self.key.capacity;
            let slots: Vec<u32> = prompts
                .clone()
                .enumerate()
                .flat_map(|(sentence, prompt)| {
                    let first = (sentence * rows_each * capacity) as u32;
                    let own = first..first + prompt.len() as u32;
                    own.chain(std::iter::repeat(u32::MAX)).take(input.length)
                })
                .collect();
            input.write(session, config, prompts);
            session.write(*cache_slots, &slots);
            session.run(session.program(input.program), weights);
        }
        if let Search::Device(device) = &mut self.search {
            search.leave_edits_to_device();
            self.rows.write(session, config, &search.step());
            device.begin(session, requests);
        }
    }
}

impl Rows {
    fn new(states: RowStates, capacity: usize) -> Self {
        Self {
            states,
            capacity,
            histories: Vec::new(),
            positions: Vec::new(),
            cache_slots: Vec::new(),
            key_counts: Vec::new(),
            slots: Vec::new(),
            previous_slots: Vec::new(),
        }
    }

    /// Every row's history is its own part of the cache, until beams are reordered; but for the prompt, which the rows of
    /// a sentence share.
    fn reset(
        &mut self,
        session: &mut Session,
        histories: impl ExactSizeIterator<Item = usize>,
        rows_each: usize,
    ) {
        let capacity = self.capacity;
        let Self { slots, histories: rows, .. } = self;
        slots.clear();
        slots.extend(0..(histories.len() * rows_each * capacity) as u32);
        rows.clear();
        for (sentence, length) in histories.enumerate() {
            let first = sentence * rows_each;
            rows.extend(std::iter::repeat_n(length, rows_each));
            for row in first + 1..first + rows_each {
                slots.copy_within(first * capacity..first * capacity + length, row * capacity);
            }
        }
        session.write(self.states.slots, slots);
    }

    /// Has the rows of a sentence begin anew, with a prompt of one token.
    fn seat(
        &mut self,
        session: &mut Session,
        config: &ModelConfig,
        sentence: usize,
        rows_each: usize,
        prompt: &[u32],
    ) {
        let capacity = self.capacity;
        let (first, token) = (sentence * rows_each, prompt[0]);
        let own = (first * capacity) as u32..((first + rows_each) * capacity) as u32;
        for (slot, own) in self.slots[first * capacity..].iter_mut().zip(own) {
            *slot = own;
        }
        session.write_rows(self.states.slots, first, &self.slots[first * capacity..][..rows_each * capacity]);
        let rows = first..first + rows_each;
        let first_slots: Vec<u32> = rows.map(|row| (row * capacity) as u32).collect();
        session.write_rows(self.states.cache_slots, first, &first_slots);
        for (state, value) in [
            (self.states.tokens, token),
            (self.states.positions, config.positions.row(0, token)),
            (self.states.key_counts, 1),
        ] {
            session.write_rows(state, first, &vec![value; rows_each]);
        }
    }

    /// Writes what the next step needs. Beams are reordered by the table of slots; no cache is copied.
    fn write(&mut self, session: &mut Session, config: &ModelConfig, step: &StepRequest<'_>) {
        let capacity = self.capacity;
        if step.parents.iter().enumerate().any(|(row, &parent)| parent as usize != row) {
            self.previous_slots.clone_from(&self.slots);
            for (row, &parent) in step.parents.iter().enumerate() {
                let length = (self.histories[row] + step.positions[row]).min(capacity);
                let parent = parent as usize * capacity;
                self.slots[row * capacity..][..length]
                    .copy_from_slice(&self.previous_slots[parent..][..length]);
            }
            session.write(self.states.slots, &self.slots);
        }
        self.positions.clear();
        self.key_counts.clear();
        self.cache_slots.clear();
        for (row, (&token, history)) in step.tokens.iter().zip(&self.histories).enumerate() {
            // rows of finished sentences, whose prompts may have been longer, stay where there is room
            let before = history + step.positions[row];
            let before = before.min(capacity - 1).min(config.positions.count() - 1);
            self.positions.push(config.positions.row(before, token));
            self.key_counts.push(before as u32 + 1);
            self.cache_slots.push((row * capacity + before) as u32);
        }
        session.write(self.states.tokens, step.tokens);
        session.write(self.states.positions, &self.positions);
        session.write(self.states.key_counts, &self.key_counts);
        session.write(self.states.cache_slots, &self.cache_slots);
    }
}
