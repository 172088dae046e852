//! One batch on the device: the encoder's program and the prompt's, run once, and the decoder's step, replayed. Between
//! two steps only the best few candidates of each row come down, and a token and a cache position per row go up.

use std::sync::{Mutex, PoisonError};

use super::Transformer;
use super::cancel::Cancel;
use super::generate::{GenerateError, GenerateRequest};
use crate::decode::{BatchSearch, Hypothesis, StepRequest, StepScores};
use crate::graph::{Graph, Plan, Session, State, StateTable};
use crate::kernels::log_softmax_top_k::{TopKShape, encode_edits};
use crate::model::config::{Architecture, ModelConfig};
use crate::model::decoder::{History, decoder, memory_key_values, output};
use crate::model::embedding::Tokens;
use crate::model::encoder::encoder;
use crate::model::{Cache, Memory, Sequences, Taps};
use crate::scores::TopScores;

/// Memory of the sessions kept for later batches, bytes: enough for sentences that come one by one. Large batches make
/// theirs anew, which is little beside their run.
const MAX_IDLE_BYTES: usize = 32 << 20;
/// Source lengths and cache capacities are rounded up to these, so that similar batches share a session.
const SOURCE_BUCKET: usize = 8;
const CAPACITY_BUCKET: usize = 32;

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
    scoring: TopKShape,
    /// Room for a step's score edits; 0 where there never are any.
    max_edits: usize,
    /// Whether the search reads all scores.
    whole_rows: bool,
}

impl SessionKey {
    pub fn new(config: &ModelConfig, requests: &[&GenerateRequest], search: &BatchSearch) -> Self {
        let longest = |length: fn(&GenerateRequest) -> usize| {
            requests.iter().map(|request| length(request)).max().unwrap_or(1)
        };
        let padded = |length: usize| length.next_multiple_of(SOURCE_BUCKET).min(config.positions.count());
        let source_length = match config.architecture() {
            Architecture::DecoderOnly => 0,
            _ => padded(longest(|request| request.input_ids.len())),
        };
        Self {
            batch: requests.len(),
            source_length,
            prompt_length: padded(longest(|request| before_last(prompt(request)).len())),
            capacity: longest(|request| request.options.max_length).next_multiple_of(CAPACITY_BUCKET),
            scoring: TopKShape {
                rows: search.rows(),
                vocabulary: config.target_vocabulary,
                candidates: search.candidates(),
                rules: search.rules(),
            },
            max_edits: match search.max_edits() {
                0 => 0,
                edits => edits.next_power_of_two(), // so that similar batches share a session
            },
            whole_rows: search.wants_whole_rows(),
        }
    }
}

/// What the decoder is given before it chooses tokens.
fn prompt(request: &GenerateRequest) -> &[u32] {
    &request.options.prompt
}

/// The first step reads the last token of a prompt; the others come before it.
fn before_last(prompt: &[u32]) -> &[u32] {
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
        idle.push(session);
        while idle.iter().map(|session| session.bytes).sum::<usize>() > MAX_IDLE_BYTES {
            idle.remove(0); // the oldest
        }
    }
}

/// The device's half of a batch: buffers and programs, made once, good for every batch of the same shape.
pub(super) struct DecodeSession {
    key: SessionKey,
    /// Of its states.
    bytes: usize,
    session: Session,
    source: Option<InputStates>,
    prompt: Option<PromptStates>,
    tokens: State,
    positions: State,
    cache_slots: State,
    slots: State,
    key_counts: State,
    edits: Option<State>,
    best: State,
    /// Where the search reads all of them.
    scores: Option<State>,
    host: HostBuffers,
}

/// Sequences that a program reads as a whole.
pub(super) struct InputStates {
    /// Padded.
    length: usize,
    tokens: State,
    positions: State,
    mask: State,
    program: usize,
}

struct PromptStates {
    input: InputStates,
    /// Where in the caches each token's keys and values go.
    cache_slots: State,
}

impl InputStates {
    pub fn new(states: &mut StateTable, name: &str, (batch, length): (usize, usize), program: usize) -> Self {
        Self {
            length,
            tokens: states.u32(format!("{name} tokens"), batch * length, 1),
            positions: states.u32(format!("{name} positions"), batch * length, 1),
            mask: states.u32(format!("{name} mask"), batch, length),
            program,
        }
    }

    pub fn values(&self, g: &mut Graph, batch: usize) -> (Tokens, Sequences) {
        let tokens = Tokens { ids: g.state(self.tokens), positions: g.state(self.positions), types: None };
        (tokens, Sequences { batch, length: self.length, mask: g.state(self.mask) })
    }

    pub fn write<'a>(
        &self,
        session: &mut Session,
        config: &ModelConfig,
        sequences: impl ExactSizeIterator<Item = &'a [u32]>,
    ) {
        let elements = sequences.len() * self.length;
        let mut tokens = vec![config.tokens.pad; elements];
        let (mut positions, mut mask) = (vec![0; elements], vec![0; elements]);
        for (row, sequence) in sequences.enumerate() {
            let first = row * self.length;
            tokens[first..][..sequence.len()].copy_from_slice(sequence);
            mask[first..][..sequence.len()].fill(1);
            let ids = &tokens[first..][..self.length];
            positions.splice(first..first + self.length, config.position_rows(ids));
        }
        session.write(self.tokens, &tokens);
        session.write(self.positions, &positions);
        session.write(self.mask, &mask);
    }
}

/// What goes up each step, kept so that a step allocates nothing.
#[derive(Default)]
struct HostBuffers {
    positions: Vec<u32>,
    cache_slots: Vec<u32>,
    key_counts: Vec<u32>,
    slots: Vec<u32>,
    previous_slots: Vec<u32>,
    edits: Vec<[u32; 4]>,
    /// For each row, how many tokens of its prompt come before the last.
    histories: Vec<usize>,
    values: Vec<f32>,
    tokens: Vec<u32>,
}

/// The step is the first program, because every session has it.
const STEP: usize = 0;

impl DecodeSession {
    pub fn new(transformer: &Transformer, key: SessionKey) -> Result<Self, GenerateError> {
        let config = &transformer.config;
        let blueprint = &transformer.blueprint;
        let SessionKey { batch, source_length, prompt_length, capacity, .. } = key;
        let rows = key.scoring.rows;
        let stack = config.decoder;

        let mut states = StateTable::default();
        let mut programs = STEP + 1;
        let mut input = |states: &mut StateTable, name, length| {
            (length > 0).then(|| {
                let input = InputStates::new(states, name, (batch, length), programs);
                programs += 1;
                input
            })
        };
        let source = input(&mut states, "source", source_length);
        let prompt = input(&mut states, "prompt", prompt_length).map(|input| PromptStates {
            cache_slots: states.u32("prompt's cache slots", batch * prompt_length, 1),
            input,
        });
        let tokens = states.u32("tokens", rows, 1);
        let positions = states.u32("positions", rows, 1);
        let cache_slots = states.u32("cache slots", rows, 1);
        let slots = states.u32("slots", rows, capacity);
        let key_counts = states.u32("key counts", rows, 1);
        let edits = (key.max_edits > 0).then(|| states.u32("score edits", 1 + key.max_edits, 4));
        let best = states.u32("best candidates", rows, 2 * key.scoring.candidates);
        let scores = key.whole_rows.then(|| states.f32("scores", rows, config.target_vocabulary));
        let memory_layers = if source.is_some() { stack.layers } else { 0 };
        let memory_width = stack.key_width() + stack.value_width();
        let memory_states: Vec<State> = (0..memory_layers)
            .map(|layer| states.f32(format!("memory {layer}"), batch * source_length, memory_width))
            .collect();
        let caches: Vec<Cache> = (0..stack.layers)
            .map(|layer| Cache {
                keys: states.f32(format!("key cache {layer}"), rows * capacity, stack.key_width()),
                values: states.f32(format!("value cache {layer}"), rows * capacity, stack.value_width()),
                cache_slots,
                slots,
                key_counts,
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
        let target = Tokens { ids: g.state(tokens), positions: g.state(positions), types: None };
        let history = History::Cached(&caches);
        let last = decoder(g, config, blueprint, target, &history, &memory, Taps::default())?;
        let logits = output(g, config, blueprint, last)?;
        if let Some(scores) = scores {
            g.keep(logits, scores)?; // edited in place
        }
        let top = g.log_softmax_top_k(key.scoring, logits, edits)?;
        g.keep(top, best)?;
        let mut plans = vec![Plan::new(step)];

        if let Some(source) = &source {
            let mut encode = Graph::new("encode");
            let g = &mut encode;
            let (tokens, sequences) = source.values(g, batch);
            let memory = encoder(g, config, blueprint, tokens, &sequences, Taps::default())?;
            for (key_values, &state) in
                memory_key_values(g, blueprint, memory)?.into_iter().zip(&memory_states)
            {
                g.keep(key_values, state)?;
            }
            plans.push(Plan::new(encode));
        }
        if let Some(PromptStates { input, cache_slots }) = &prompt {
            let mut read = Graph::new("prompt");
            let g = &mut read;
            let caches: Vec<Cache> =
                caches.iter().map(|&cache| Cache { cache_slots: *cache_slots, ..cache }).collect();
            let memory = memories(g);
            let (tokens, sequences) = input.values(g, batch);
            let history = History::Prompt(sequences, &caches);
            decoder(g, config, blueprint, tokens, &history, &memory, Taps::default())?;
            plans.push(Plan::new(read));
        }

        let session = Session::new(&transformer.device, &transformer.weights, &states, plans)?;
        Ok(Self {
            session,
            bytes: states.bytes(),
            source,
            prompt,
            tokens,
            positions,
            cache_slots,
            slots,
            key_counts,
            edits,
            best,
            scores,
            host: HostBuffers::default(),
            key,
        })
    }

    pub async fn run(
        &mut self,
        transformer: &Transformer,
        requests: &[&GenerateRequest],
        mut search: BatchSearch,
        cancel: &Cancel,
        before_step: &mut dyn FnMut(&BatchSearch),
    ) -> Result<Vec<Vec<Hypothesis>>, GenerateError> {
        self.begin(transformer, requests);
        while !search.is_finished() {
            if cancel.listen().await {
                return Err(GenerateError::Cancelled);
            }
            before_step(&search);
            self.write_step(&transformer.config, &search.step());
            let step = self.session.program(STEP);
            if let Some(scores) = self.scores {
                self.session.run(step, &transformer.weights);
                let values = self.session.read(scores).await?;
                let vocabulary = self.key.scoring.vocabulary;
                search.advance(StepScores::Whole { vocabulary, values: &values })?;
                continue;
            }
            let candidates = self.key.scoring.candidates;
            let HostBuffers { values, tokens, .. } = &mut self.host;
            self.session
                .run_and_read(step, &transformer.weights, self.best, |words| {
                    values.clear();
                    tokens.clear();
                    for row in words.chunks_exact(2 * candidates) {
                        let (row_values, row_tokens) = row.split_at(candidates);
                        values.extend(row_values.iter().copied().map(f32::from_bits));
                        tokens.extend_from_slice(row_tokens);
                    }
                })
                .await?;
            search.advance(TopScores { candidates, values, tokens })?;
        }
        Ok(search.finish())
    }

    /// Submits every program once, so that everything they need is compiled.
    pub fn rehearse(&mut self, transformer: &Transformer, request: &GenerateRequest, search: &BatchSearch) {
        self.begin(transformer, &[request]);
        self.write_step(&transformer.config, &search.step());
        self.session.run(self.session.program(STEP), &transformer.weights);
    }

    /// Runs the sources through the encoder, and the prompts, but for their last tokens, through the decoder.
    fn begin(&mut self, transformer: &Transformer, requests: &[&GenerateRequest]) {
        let (config, weights) = (&transformer.config, &transformer.weights);
        let prompts = requests.iter().map(|request| before_last(prompt(request)));
        let rows_each = self.key.scoring.rows / requests.len();
        self.reset_slots(prompts.clone().map(<[u32]>::len), rows_each);
        if let Some(source) = &self.source {
            let sources = requests.iter().map(|request| request.input_ids.as_slice());
            source.write(&mut self.session, config, sources);
            self.session.run(self.session.program(source.program), weights);
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
            input.write(&mut self.session, config, prompts);
            self.session.write(*cache_slots, &slots);
            self.session.run(self.session.program(input.program), weights);
        }
    }

    /// Every row's history is its own part of the cache, until beams are reordered; but for the prompt, which the rows of
    /// a sentence share.
    fn reset_slots(&mut self, histories: impl Iterator<Item = usize>, rows_each: usize) {
        let capacity = self.key.capacity;
        let HostBuffers { slots, histories: rows, .. } = &mut self.host;
        slots.clear();
        slots.extend(0..(self.key.scoring.rows * capacity) as u32);
        rows.clear();
        for (sentence, length) in histories.enumerate() {
            let first = sentence * rows_each;
            rows.extend(std::iter::repeat_n(length, rows_each));
            for row in first + 1..first + rows_each {
                slots.copy_within(first * capacity..first * capacity + length, row * capacity);
            }
        }
        self.session.write(self.slots, slots);
    }

    /// Writes what the next step needs. Beams are reordered by the table of slots; no cache is copied.
    fn write_step(&mut self, config: &ModelConfig, step: &StepRequest<'_>) {
        let capacity = self.key.capacity;
        let host = &mut self.host;
        if step.parents.iter().enumerate().any(|(row, &parent)| parent as usize != row) {
            host.previous_slots.clone_from(&host.slots);
            for (row, &parent) in step.parents.iter().enumerate() {
                let length = (host.histories[row] + step.position).min(capacity);
                let parent = parent as usize * capacity;
                host.slots[row * capacity..][..length]
                    .copy_from_slice(&host.previous_slots[parent..][..length]);
            }
            self.session.write(self.slots, &host.slots);
        }
        host.positions.clear();
        host.key_counts.clear();
        host.cache_slots.clear();
        for (row, (&token, history)) in step.tokens.iter().zip(&host.histories).enumerate() {
            // rows of finished sentences, whose prompts may have been longer, stay where there is room
            let before = (history + step.position).min(capacity - 1).min(config.positions.count() - 1);
            host.positions.push(config.positions.row(before, token));
            host.key_counts.push(before as u32 + 1);
            host.cache_slots.push((row * capacity + before) as u32);
        }
        self.session.write(self.tokens, step.tokens);
        self.session.write(self.positions, &host.positions);
        self.session.write(self.key_counts, &host.key_counts);
        self.session.write(self.cache_slots, &host.cache_slots);
        if let Some(edits) = self.edits {
            encode_edits(step.edits, &mut host.edits);
            self.session.write(edits, bytemuck::cast_slice(&host.edits));
        }
    }
}
