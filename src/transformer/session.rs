//! One batch on the device: the encoder's program, run once, and the decoder's step, replayed. Between two steps only
//! the best few candidates of each row come down, and a token and a cache position per row go up.

use std::sync::{Mutex, PoisonError};

use super::Transformer;
use super::cancel::Cancel;
use super::generate::{GenerateError, GenerateRequest};
use crate::decode::{BatchSearch, Hypothesis, StepRequest, StepScores};
use crate::graph::{Graph, Plan, Session, State, StateTable};
use crate::kernels::log_softmax_top_k::{TopKShape, encode_edits};
use crate::model::config::ModelConfig;
use crate::model::decoder::{History, decoder, memory_key_values};
use crate::model::encoder::encoder;
use crate::model::{Cache, Memory, Sequences};
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
    /// Padded.
    source_length: usize,
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
        let source_length = longest(|request| request.input_ids.len());
        Self {
            batch: requests.len(),
            source_length: source_length.next_multiple_of(SOURCE_BUCKET).min(config.positions.count()),
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
    source_tokens: State,
    source_positions: State,
    source_mask: State,
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

/// What goes up each step, kept so that a step allocates nothing.
#[derive(Default)]
struct HostBuffers {
    positions: Vec<u32>,
    cache_slots: Vec<u32>,
    key_counts: Vec<u32>,
    slots: Vec<u32>,
    previous_slots: Vec<u32>,
    edits: Vec<[u32; 4]>,
    values: Vec<f32>,
    tokens: Vec<u32>,
}

const ENCODE: usize = 0;
const STEP: usize = 1;

impl DecodeSession {
    pub fn new(transformer: &Transformer, key: SessionKey) -> Result<Self, GenerateError> {
        let config = &transformer.config;
        let blueprint = &transformer.blueprint;
        let SessionKey { batch, source_length, capacity, .. } = key;
        let rows = key.scoring.rows;
        let d_model = config.d_model;

        let mut states = StateTable::default();
        let source_tokens = states.u32("source tokens", batch * source_length, 1);
        let source_positions = states.u32("source positions", batch * source_length, 1);
        let source_mask = states.u32("source mask", batch, source_length);
        let tokens = states.u32("tokens", rows, 1);
        let positions = states.u32("positions", rows, 1);
        let cache_slots = states.u32("cache slots", rows, 1);
        let slots = states.u32("slots", rows, capacity);
        let key_counts = states.u32("key counts", rows, 1);
        let edits = (key.max_edits > 0).then(|| states.u32("score edits", 1 + key.max_edits, 4));
        let best = states.u32("best candidates", rows, 2 * key.scoring.candidates);
        let scores = key.whole_rows.then(|| states.f32("scores", rows, config.target_vocabulary));
        let memory_states: Vec<State> = (0..config.decoder.layers)
            .map(|layer| states.f32(format!("memory {layer}"), batch * source_length, 2 * d_model))
            .collect();
        let caches: Vec<Cache> = (0..config.decoder.layers)
            .map(|layer| Cache {
                keys: states.f32(format!("key cache {layer}"), rows * capacity, d_model),
                values: states.f32(format!("value cache {layer}"), rows * capacity, d_model),
                cache_slots,
                slots,
                key_counts,
            })
            .collect();

        let mut encode = Graph::new("encode");
        let g = &mut encode;
        let sequences = Sequences { batch, length: source_length, mask: g.state(source_mask) };
        let (source, at) = (g.state(source_tokens), g.state(source_positions));
        let memory = encoder(g, config, blueprint, source, at, &sequences, &[])?;
        for (layer, &state) in memory_states.iter().enumerate() {
            let key_values = memory_key_values(g, blueprint, layer, memory)?;
            g.keep(key_values, state)?;
        }

        let mut step = Graph::new("decode step");
        let g = &mut step;
        let sequences = Sequences { batch, length: source_length, mask: g.state(source_mask) };
        let memories: Vec<Memory> =
            memory_states.iter().map(|&state| Memory { key_values: g.state(state), sequences }).collect();
        let (target, at) = (g.state(tokens), g.state(positions));
        let history = History::Cached(&caches);
        let logits = decoder(g, config, blueprint, target, at, &history, &memories, &[])?;
        if let Some(scores) = scores {
            g.keep(logits, scores)?; // edited in place
        }
        let top = g.log_softmax_top_k(key.scoring, logits, edits)?;
        g.keep(top, best)?;

        let plans = vec![Plan::new(encode), Plan::new(step)];
        let session = Session::new(&transformer.device, &transformer.weights, &states, plans)?;
        Ok(Self {
            session,
            bytes: states.bytes(),
            source_tokens,
            source_positions,
            source_mask,
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
        self.write_source(requests, transformer.config.tokens.pad);
        self.session.run(self.session.program(ENCODE), &transformer.weights);
        self.reset_slots();
        while !search.is_finished() {
            if cancel.listen().await {
                return Err(GenerateError::Cancelled);
            }
            before_step(&search);
            self.write_step(&search.step());
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

    /// Submits both programs once, so that everything they need is compiled.
    pub fn rehearse(&mut self, transformer: &Transformer, request: &GenerateRequest, search: &BatchSearch) {
        self.write_source(&[request], transformer.config.tokens.pad);
        self.session.run(self.session.program(ENCODE), &transformer.weights);
        self.reset_slots();
        self.write_step(&search.step());
        self.session.run(self.session.program(STEP), &transformer.weights);
    }

    fn write_source(&mut self, requests: &[&GenerateRequest], pad: u32) {
        let length = self.key.source_length;
        let mut tokens = vec![pad; requests.len() * length];
        let mut mask = vec![0; requests.len() * length];
        for (row, request) in requests.iter().enumerate() {
            let here = row * length..row * length + request.input_ids.len();
            tokens[here.clone()].copy_from_slice(&request.input_ids);
            mask[here].fill(1);
        }
        let positions: Vec<u32> = requests.iter().flat_map(|_| 0..length as u32).collect();
        self.session.write(self.source_tokens, &tokens);
        self.session.write(self.source_positions, &positions);
        self.session.write(self.source_mask, &mask);
    }

    /// Every row's history is its own part of the cache, until beams are reordered.
    fn reset_slots(&mut self) {
        self.host.slots.clear();
        self.host.slots.extend(0..(self.key.scoring.rows * self.key.capacity) as u32);
        self.session.write(self.slots, &self.host.slots);
    }

    /// Writes what the next step needs. Beams are reordered by the table of slots; no cache is copied.
    fn write_step(&mut self, step: &StepRequest<'_>) {
        let (capacity, position) = (self.key.capacity, step.position);
        let host = &mut self.host;
        if step.parents.iter().enumerate().any(|(row, &parent)| parent as usize != row) {
            host.previous_slots.clone_from(&host.slots);
            for (row, &parent) in step.parents.iter().enumerate() {
                let parent = parent as usize * capacity;
                host.slots[row * capacity..][..position]
                    .copy_from_slice(&host.previous_slots[parent..][..position]);
            }
            self.session.write(self.slots, &host.slots);
        }
        let rows = step.tokens.len();
        host.positions.clear();
        host.positions.resize(rows, position as u32);
        host.key_counts.clear();
        host.key_counts.resize(rows, position as u32 + 1);
        host.cache_slots.clear();
        host.cache_slots.extend((0..rows).map(|row| (row * capacity + position) as u32));
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
