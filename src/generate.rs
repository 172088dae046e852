//! Generation: batches of sentences through encoder and decoder, a search step at a time.
//!
//! A batch has one session on the device: the encoder's program, run once, and the decoder's step, replayed. Between
//! two steps only the best few candidates of each row come down, and a token and a cache position per row go up.

use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::decode::{BatchSearch, DecodeError, DecodeOptions, Hypothesis, StepRequest, TopScores};
use crate::gpu::GpuError;
use crate::graph::{Graph, GraphError, Plan, Session, State, StateTable};
use crate::kernels::log_softmax_top_k::{TopKShape, encode_edits};
use crate::model::decoder::{History, decoder, memory_key_values};
use crate::model::encoder::encoder;
use crate::model::{Cache, Memory, Sequences, Transformer};

/// One source sentence, and how to decode it.
#[derive(Clone, Debug, PartialEq)]
pub struct GenerateRequest {
    /// Source token ids, with whatever special tokens the model expects.
    pub input_ids: Vec<u32>,
    /// The search.
    pub options: DecodeOptions,
}

/// Asks a running generation to stop. Clones share the wish.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Stops the generation before its next step.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether that was asked for.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Why nothing was generated.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
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
const MAX_CACHE_BYTES: usize = 512 << 20;
/// Memory of the sessions kept for later batches, bytes: enough for sentences that come one by one. Large batches make
/// theirs anew, which is little beside their run.
const MAX_IDLE_BYTES: usize = 32 << 20;
/// Source lengths and cache capacities are rounded up to these, so that similar batches share a session.
const SOURCE_BUCKET: usize = 8;
const CAPACITY_BUCKET: usize = 32;

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
        for request in requests {
            self.check_request(request)?;
        }
        let mut order: Vec<usize> = (0..requests.len()).collect();
        let kind =
            |request: &GenerateRequest| (request.options.num_beams, request.options.renormalize_logits);
        order.sort_by_key(|&index| (kind(&requests[index]), requests[index].input_ids.len()));

        let mut results = vec![Vec::new(); requests.len()];
        let mut waiting = order.as_slice();
        while let Some(&first) = waiting.first() {
            let same_kind =
                waiting.iter().take_while(|&&index| kind(&requests[index]) == kind(&requests[first]));
            let (batch, rest) = waiting.split_at(self.batch_size(requests, same_kind));
            let batch_requests: Vec<&GenerateRequest> = batch.iter().map(|&index| &requests[index]).collect();
            let hypotheses = self.generate_batch(&batch_requests, cancel).await?;
            for (&index, hypotheses) in batch.iter().zip(hypotheses) {
                results[index] = hypotheses;
            }
            waiting = rest;
            finished(requests.len() - waiting.len());
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
        let mut capacity = 0;
        let mut size = 0;
        for &index in candidates {
            let request = &requests[index];
            let rows = (size + 1) * request.options.num_beams;
            capacity = capacity.max(request.options.max_length);
            let cache_bytes = 2 * 4 * self.config.decoder.layers * rows * capacity * self.config.d_model;
            let source_tokens = (size + 1) * request.input_ids.len();
            let fits =
                rows <= MAX_ROWS && source_tokens <= MAX_SOURCE_TOKENS && cache_bytes <= MAX_CACHE_BYTES;
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
    ) -> Result<Vec<Vec<Hypothesis>>, GenerateError> {
        let search = BatchSearch::new(requests.iter().map(|request| request.options.clone()).collect())?;
        let longest = requests.iter().map(|request| request.input_ids.len()).max().unwrap_or(1);
        let limit = self.config.positions.count();
        let max_length = requests.iter().map(|request| request.options.max_length).max().unwrap_or(1);
        let key = SessionKey {
            batch: requests.len(),
            beams: search.rows() / requests.len(),
            source_length: longest.next_multiple_of(SOURCE_BUCKET).min(limit),
            capacity: max_length.next_multiple_of(CAPACITY_BUCKET),
            scoring: TopKShape {
                rows: search.rows(),
                vocabulary: self.config.target_vocabulary,
                candidates: search.candidates(),
                rules: search.rules(),
            },
            max_edits: match search.max_edits() {
                0 => 0,
                edits => edits.next_power_of_two(), // so that similar batches share a session
            },
        };
        let mut session = match self.take_idle(&key) {
            Some(session) => session,
            None => DecodeSession::new(self, key)?,
        };
        let result = session.run(self, requests, search, cancel).await;
        // a session is good for another batch whatever became of this one, unless the device failed
        if !matches!(result, Err(GenerateError::Gpu(_))) {
            self.put_idle(session);
        }
        result
    }

    fn take_idle(&self, key: &SessionKey) -> Option<DecodeSession> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let index = idle.iter().position(|session| session.key == *key)?;
        Some(idle.remove(index))
    }

    fn put_idle(&self, session: DecodeSession) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(session);
        while idle.iter().map(|session| session.bytes).sum::<usize>() > MAX_IDLE_BYTES {
            idle.remove(0); // the oldest
        }
    }
}

/// What a session is made for.
#[derive(Clone, Debug, PartialEq)]
struct SessionKey {
    batch: usize,
    beams: usize,
    /// Padded.
    source_length: usize,
    /// Cache positions of each row.
    capacity: usize,
    scoring: TopKShape,
    /// Room for a step's score edits; 0 where there never are any.
    max_edits: usize,
}

/// The device's half of a batch: buffers and programs, made once, good for every batch of the same shape.
pub(crate) struct DecodeSession {
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
    fn new(transformer: &Transformer, key: SessionKey) -> Result<Self, GenerateError> {
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
            host: HostBuffers::default(),
            key,
        })
    }

    async fn run(
        &mut self,
        transformer: &Transformer,
        requests: &[&GenerateRequest],
        mut search: BatchSearch,
        cancel: &Cancel,
    ) -> Result<Vec<Vec<Hypothesis>>, GenerateError> {
        self.write_source(requests, transformer.config.tokens.pad);
        self.session.run(self.session.program(ENCODE), &transformer.weights);
        self.reset_slots();
        while !search.is_finished() {
            if cancel.is_cancelled() {
                return Err(GenerateError::Cancelled);
            }
            self.write_step(&search.step());
            let candidates = self.key.scoring.candidates;
            let HostBuffers { values, tokens, .. } = &mut self.host;
            let step = self.session.program(STEP);
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
