//! A batch's search on the device, and its copy on the host.
//!
//! The device decides, and records the few best candidates of each step. The host follows the record some steps behind
//! with [`BatchSearch`], which gives hypotheses, scores and the text so far. Both searches agree to the last bit. So
//! the host knows when the device is done, and detects a driver that computes wrongly.

use std::collections::VecDeque;

use super::error::GenerateError;
use super::queue::Seats;
use super::request::GenerateRequest;
use super::rows::RowStates;
use crate::decode::{BatchSearch, DecodeOptions, EarlyStopping, length_divisor};
use crate::graph::{Graph, GraphError, Program, Session, State, StateTable, Value};
use crate::kernels::AdapterClass;
use crate::kernels::bans::Bans;
use crate::kernels::search_state::{HistoryEdits, RING, SearchShape, SentenceState, Stopping};
use crate::model::config::ModelConfig;
use crate::ops::SearchStates;
use crate::scores::{TopKShape, TopScores, column_of};

/// The shapes of its states.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DeviceSearchKey {
    scoring: TopKShape,
    edits: HistoryEdits,
    ban_words: usize,
    phrase_words: usize,
}

/// Banned single tokens without end tokens, which Hugging Face does not ban.
fn banned_tokens(options: &DecodeOptions) -> Vec<u32> {
    let single = options.bad_words.iter().filter(|word| word.len() == 1).flatten();
    single.copied().filter(|token| !options.eos.contains(token)).collect()
}

fn columns_of(options: &DecodeOptions, tokens: &[u32]) -> Vec<u32> {
    let columns = options.columns.listed().map(|columns| &columns[..]);
    tokens.iter().filter_map(|&token| column_of(columns, token)).collect()
}

fn banned_columns(options: &DecodeOptions) -> Vec<u32> {
    columns_of(options, &banned_tokens(options))
}

fn end_columns(options: &DecodeOptions) -> Vec<u32> {
    columns_of(options, &options.eos)
}

fn banned_phrases(options: &DecodeOptions) -> Vec<&[u32]> {
    options.bad_words.iter().filter(|word| word.len() > 1).map(Vec::as_slice).collect()
}

fn min_new_tokens(options: &DecodeOptions) -> usize {
    options.min_length.saturating_sub(options.prompt.len())
}

/// The ban lists of a batch, and the place of each sentence's own.
fn bans(requests: &[&GenerateRequest], vocabulary: usize) -> (Bans, Vec<[usize; 2]>) {
    let mut bans = Bans::default();
    let places = requests.iter().map(|request| {
        let options = &request.options;
        let lists = match options.columns.listed() {
            None => bans.add_lists(vocabulary, &banned_tokens(options), &options.eos),
            // each sentence has its own place, so that another one can take it over
            Some(_) => bans.add_own_lists(vocabulary, &banned_columns(options), &end_columns(options)),
        };
        let phrases = banned_phrases(options);
        [lists, bans.add_phrases(phrases.iter().copied())]
    });
    let places = places.collect();
    (bans, places)
}

impl DeviceSearchKey {
    pub fn new(
        config: &ModelConfig,
        requests: &[&GenerateRequest],
        scoring: &TopKShape,
        capacity: usize,
    ) -> Self {
        let any = |test: fn(&DecodeOptions) -> bool| requests.iter().any(|request| test(&request.options));
        let most = |count: fn(&DecodeOptions) -> usize| {
            requests.iter().map(|request| count(&request.options)).max().unwrap_or(0)
        };
        let phrases = most(|options| banned_phrases(options).len());
        let repeats = phrases > 0 || any(|options| options.no_repeat_ngram_size > 0);
        let bans_tokens = any(|options| min_new_tokens(options) > 0 || !banned_tokens(options).is_empty());
        let (first_position, pad_position) = config.positions.first_row();
        let search = SearchShape {
            sentences: requests.len(),
            beams: scoring.rows / requests.len(),
            candidates: scoring.candidates,
            ends: most(|options| options.eos.len()),
            capacity,
            first_position,
            pad_position,
        };
        let (bans, _) = bans(requests, scoring.vocabulary);
        Self {
            scoring: *scoring,
            edits: HistoryEdits {
                bans: repeats || bans_tokens,
                repeats,
                phrases,
                penalty: any(|options| options.repetition_penalty != 1.0),
                columns: any(|options| options.columns.listed().is_some()),
                search,
            },
            ban_words: bans.lists.len(),
            // rounded up, so that similar batches share a session
            phrase_words: bans.phrases.len().next_power_of_two(),
        }
    }
}

pub(super) struct DeviceSearch {
    key: DeviceSearchKey,
    states: SearchStates,
    /// Output columns of each sentence, if not all tokens are computed.
    columns: Option<State>,
    pace: Pace,
    /// Submits without a read record.
    under_way: VecDeque<Submit>,
    /// Seats that the next submit brings to the device.
    promised: Vec<Seat>,
    /// Place of the first sentence's ban lists. Requests that take over rows have the same options.
    bans_of_first: [usize; 2],
    /// Number of submitted steps.
    clock: usize,
    // Buffers: a step allocates nothing.
    record: Vec<u32>,
    values: Vec<f32>,
    tokens: Vec<u32>,
    /// Number of steps that the host has followed.
    followed: usize,
}

struct Submit {
    steps: usize,
    /// Requests seated before these steps.
    seats: Vec<Seat>,
}

struct Seat {
    sentence: usize,
    /// Index in the queue.
    index: usize,
    options: DecodeOptions,
    clock: usize,
}

impl DeviceSearch {
    /// * `work`: multiplications per step
    pub fn new(
        key: DeviceSearchKey,
        states: &mut StateTable,
        (rows, columns): (&RowStates, Option<State>),
        class: AdapterClass,
        work: usize,
    ) -> Self {
        let search = key.edits.search;
        let states = SearchStates {
            search: states.u32("search", search.sentences, search.block()),
            tokens: rows.tokens,
            positions: rows.positions,
            key_counts: rows.key_counts,
            cache_slots: rows.cache_slots,
            slots: rows.slots,
            slot_tokens: states.u32("tokens of the slots", search.rows() * search.capacity, 1),
            record: states.u32("record", RING * search.rows(), search.record_width()),
            bans: states.u32("banned tokens", 1, key.ban_words),
            phrases: states.u32("banned phrases", 1, key.phrase_words),
        };
        Self {
            key,
            states,
            columns,
            pace: Pace::new(class, work),
            under_way: VecDeque::with_capacity(SUBMITS),
            promised: Vec::new(),
            bans_of_first: [0; 2],
            clock: 0,
            record: Vec::new(),
            values: Vec::new(),
            tokens: Vec::new(),
            followed: 0,
        }
    }

    /// Adds the search to the decoder's step, after its logits.
    pub fn add_to(&self, g: &mut Graph, logits: Value) -> Result<(), GraphError> {
        let DeviceSearchKey { scoring, edits, .. } = self.key;
        g.enter("search");
        let scores = g.edit_scores(scoring, edits, logits, &self.states, self.columns)?;
        if edits.search.beams == 1 {
            if let Some(columns) = self.columns {
                g.tokens_of_chunks(scores, columns)?;
            }
            g.greedy_step(scores); // reduces a row's chunks itself
            return Ok(());
        }
        let top = g.best_tokens(scores)?;
        if let Some(columns) = self.columns {
            g.tokens_of_best(top, columns)?;
        }
        g.beam_step(edits.search, top, &self.states)?;
        g.reorder_slots(edits.search, &self.states)
    }

    /// Writes the search state of a new batch.
    pub fn begin(&mut self, session: &mut Session, requests: &[&GenerateRequest]) {
        session.forget();
        self.under_way.clear();
        self.promised.clear();
        self.clock = 0;
        self.followed = 0;
        let search = self.key.edits.search;
        let (bans, places) = bans(requests, self.key.scoring.vocabulary);
        self.bans_of_first = places.first().copied().unwrap_or_default();
        let mut words = Vec::with_capacity(search.sentences * search.block());
        for (request, places) in requests.iter().zip(places) {
            self.encode(&request.options, places, &mut words);
        }
        session.write(self.states.search, &words);
        session.write(self.states.bans, &bans.lists);
        session.write(self.states.phrases, &bans.phrases);
        if self.key.edits.repeats || self.key.edits.penalty {
            session.write(self.states.slot_tokens, &self.slot_tokens(requests));
        }
    }

    /// Gives the rows of a finished sentence to a request. It begins with the next submit; the host follows later.
    pub fn seat(&mut self, session: &mut Session, sentence: usize, index: usize, request: &GenerateRequest) {
        let mut words = Vec::with_capacity(self.key.edits.search.block());
        let mut places = self.bans_of_first;
        if self.columns.is_some() {
            let (own, _) = bans(&[request], self.key.scoring.vocabulary);
            places[0] = sentence * own.lists.len();
            session.write_elements(self.states.bans, places[0], &own.lists);
        }
        self.encode(&request.options, places, &mut words);
        session.write_rows(self.states.search, sentence, &words);
        if self.key.edits.repeats || self.key.edits.penalty {
            let tokens = self.slot_tokens(&[request]);
            session.write_rows(self.states.slot_tokens, sentence * tokens.len(), &tokens);
        }
        self.promised.push(Seat { sentence, index, options: request.options.clone(), clock: self.clock });
    }

    pub fn seats_all(&self) -> bool {
        self.seats().next().is_none()
    }

    /// Whether the host has still to follow the next request in these rows.
    pub fn has_promised(&self, sentence: usize) -> bool {
        self.seats().any(|seat| seat.sentence == sentence)
    }

    fn seats(&self) -> impl Iterator<Item = &Seat> {
        self.under_way.iter().flat_map(|submit| &submit.seats).chain(&self.promised)
    }

    /// Appends the block of one search.
    fn encode(&self, options: &DecodeOptions, [ban_lists, phrases]: [usize; 2], words: &mut Vec<u32>) {
        let state = SentenceState {
            clock: self.clock,
            history: options.before_last().len(),
            max_new_tokens: options.max_length - options.prompt.len(),
            min_new_tokens: min_new_tokens(options),
            stopping: match options.early_stopping {
                EarlyStopping::Always => Stopping::AtOnce,
                EarlyStopping::Never if options.length_penalty > 0.0 => Stopping::ByMaxLength,
                EarlyStopping::Never | EarlyStopping::Heuristic => Stopping::ByLengthSoFar,
            },
            forced_first: options.forced_bos.filter(|_| options.prompt.len() == 1),
            forced_last: options.forced_eos,
            ban_lists,
            repetition_penalty: options.repetition_penalty,
            no_repeat_ngram_size: options.no_repeat_ngram_size,
            phrases,
            phrase_count: banned_phrases(options).len(),
            ends: &options.eos,
            length_divisor: &|length| length_divisor(length, options.length_penalty),
        };
        self.key.edits.search.encode(&state, words);
    }

    /// The prompts without their last tokens, in the slots of a sentence's first row, which the other rows share.
    fn slot_tokens(&self, requests: &[&GenerateRequest]) -> Vec<u32> {
        let SearchShape { beams, capacity, .. } = self.key.edits.search;
        let mut tokens = vec![0; requests.len() * beams * capacity];
        for (rows, request) in tokens.chunks_exact_mut(beams * capacity).zip(requests) {
            let prompt = &request.options.prompt;
            rows[..prompt.len()].copy_from_slice(prompt);
            for row in rows.chunks_exact_mut(capacity) {
                row[prompt.len() - 1] = prompt[prompt.len() - 1];
            }
        }
        tokens
    }

    /// Submits steps, and follows as many as the next submit has.
    pub async fn follow(
        &mut self,
        session: &mut Session,
        step: Program,
        search: &mut BatchSearch,
        queue: &mut impl Seats,
    ) -> Result<(), GenerateError> {
        if self.under_way.is_empty() {
            let seats = std::mem::take(&mut self.promised);
            self.follow_seats(seats, search, queue)?;
        }
        let wanted = self.pace.wanted(search.certain_steps(), search.possible_steps());
        while self.under_way.len() < SUBMITS {
            let ahead = self.under_way.iter().map(|submit| submit.steps).sum::<usize>();
            let steps = wanted.saturating_sub(ahead).min(self.pace.block);
            if steps == 0 {
                break;
            }
            session.submit(step, steps, self.states.record)?;
            self.clock += steps;
            let seats = std::mem::take(&mut self.promised);
            self.under_way.push_back(Submit { steps, seats });
        }
        let record = &mut self.record;
        let take = |words: &[u32]| {
            record.clear();
            record.extend_from_slice(words);
        };
        session.wait(take).await?;
        let Some(Submit { steps, seats }) = self.under_way.pop_front() else { return Ok(()) };
        self.follow_seats(seats, search, queue)?;
        for _ in 0..steps {
            if search.is_finished() {
                break; // the device has stopped, too
            }
            self.replay(search)?;
        }
        Ok(())
    }

    fn follow_seats(
        &mut self,
        seats: Vec<Seat>,
        search: &mut BatchSearch,
        queue: &mut impl Seats,
    ) -> Result<(), GenerateError> {
        for Seat { sentence, index, options, clock } in seats {
            let finished = search.replace(sentence, options)?;
            queue.seat(sentence, index, finished);
            self.followed = clock; // wasted steps, after the end of all sentences, need no following
        }
        Ok(())
    }

    /// Advances the host's search by one step.
    fn replay(&mut self, search: &mut BatchSearch) -> Result<(), GenerateError> {
        let shape = self.key.edits.search;
        let (rows, candidates, width) = (shape.rows(), shape.candidates, shape.record_width());
        let Self { record, values, tokens, .. } = self;
        let record = &record[self.followed % RING * rows * width..][..rows * width];
        let step = search.step();
        values.clear();
        tokens.clear();
        for (row, (record, &fed)) in record.chunks_exact(width).zip(step.tokens).enumerate() {
            let grows = !search.sentences()[row / shape.beams].is_finished();
            if grows && record[2 * candidates] != fed {
                return Err(GenerateError::SearchDiverged { step: self.followed + 1, row });
            }
            values.extend(record[..candidates].iter().copied().map(f32::from_bits));
            tokens.extend_from_slice(&record[candidates..2 * candidates]);
        }
        search.advance(TopScores { candidates, values, tokens })?;
        self.followed += 1;
        Ok(())
    }
}

/// Number of submits in flight: the device works on one while the host follows another.
const SUBMITS: usize = 2;

/// Number of steps that the device runs ahead of the host.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pace {
    /// Maximal number of steps of a submit.
    block: usize,
    /// Number of steps ahead that may be wasted because all searches may have ended.
    speculative: usize,
}

impl Pace {
    /// | adapter | steps of a submit | steps ahead that may be wasted |
    /// |---|---|---|
    /// | software | 64 million multiplications, 8 at most | none: a step takes longer than reading the record |
    /// | hardware | 512 million, 4 at most | two submits |
    ///
    /// Submits are short, because the same device draws the page in between.
    fn new(class: AdapterClass, work: usize) -> Self {
        let steps = |multiplications: usize| multiplications / work.max(1);
        if class.is_software() {
            Self { block: steps(64 << 20).clamp(1, RING), speculative: 1 }
        } else {
            let block = steps(512 << 20).clamp(1, RING / 2);
            Self { block, speculative: SUBMITS * block }
        }
    }

    /// Number of steps to have in flight, if the searches need `certain` to `possible` more.
    fn wanted(&self, certain: usize, possible: usize) -> usize {
        certain.max(self.speculative.min(possible))
    }
}
