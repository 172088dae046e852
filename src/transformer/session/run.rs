use super::states::{PromptStates, SessionStates, write_columns};
use super::{DecodeSession, Program, Search, SessionKey};
use crate::decode::{BatchSearch, Paths, SentenceSearch};
use crate::graph::State;
use crate::model::LayerCache;
use crate::transformer::attention_inputs::{DecoderKeys, HypothesisRows};
use crate::transformer::cancel::Cancel;
use crate::transformer::error::GenerateError;
use crate::transformer::forward::ForwardSelection;
use crate::transformer::kept_attention::KeptLayer;
use crate::transformer::loaded::LoadedModel;
use crate::transformer::queue::Seats;
use crate::transformer::request::GenerateRequest;

impl DecodeSession {
    /// Runs a batch, and the requests that take over its rows. Returns paths if the search keeps them.
    pub async fn run(
        &mut self,
        model: &LoadedModel,
        mut queue: impl Seats,
        mut search: BatchSearch,
        cancel: &Cancel,
    ) -> Result<Option<Paths>, GenerateError> {
        self.encode(model, &mut queue, cancel).await?;
        self.begin(model, &queue.batch(), &mut search);
        self.encode_next(model, &mut queue)?;
        while !(search.is_finished() && self.seats_all()) {
            if cancel.listen().await {
                return Err(GenerateError::Cancelled);
            }
            self.seat_next(model, &mut queue, &mut search)?;
            queue.show(&mut search).await;
            let step = self.program(Program::Step);
            match &mut self.search {
                Search::Device(device) => {
                    device.follow(&mut self.session, step, &mut search, &mut queue).await?;
                }
                Search::Host(host) => {
                    self.rows.write(&mut self.session, &model.config, &search.step());
                    host.advance(&mut self.session, &model.weights, step, &mut search).await?;
                }
            }
        }
        let paths = search.take_paths();
        queue.finish(search);
        Ok(paths)
    }

    /// Computes attention weights of a hypothesis of the last run; they stay on the device.
    ///
    /// * `source`: indices of its source tokens
    /// * `prompt`: number of tokens of the prompt
    /// * `path`: row of each token from the prompt's last on
    ///
    /// # Panics
    /// If the session was made without attention.
    pub fn attention(
        &self,
        model: &LoadedModel,
        sentence: usize,
        [source, prompt]: [usize; 2],
        path: &[usize],
        selection: &ForwardSelection,
    ) -> Result<Vec<KeptLayer>, GenerateError> {
        let SessionKey { source_length, capacity, .. } = &self.key;
        let attention =
            self.states.attention.as_ref().expect("the session keeps what attention is computed from");
        let before = prompt - 1; // read into the cache of the sentence's first row
        let first = sentence * self.key.rows_each() * capacity;
        let steps = path.iter().enumerate().map(|(step, row)| row * capacity + before + step);
        let rows = HypothesisRows {
            source: sentence * source_length..sentence * source_length + source,
            slots: (first..first + before).chain(steps).collect(),
        };
        let keys = |cache: &LayerCache| match cache {
            LayerCache::KeyValue(cache) => Some(cache.keys),
            LayerCache::Cells(_) => None,
        };
        let caches: Vec<State> = self.states.caches.iter().filter_map(keys).collect();
        let keys = DecoderKeys { caches: &caches, memory: &self.states.memory };
        attention.weights(model, &self.session, &keys, &rows, selection)
    }

    /// Whether every request that left the queue has rows.
    fn seats_all(&self) -> bool {
        let searched = match &self.search {
            Search::Device(device) => device.seats_all(),
            Search::Host(_) => true,
        };
        searched && self.states.ready.requests.is_empty()
    }

    /// Gives the rows of finished sentences to encoded requests, and encodes more: on a GPU for all that are encoded or for
    /// none, because each time costs launches.
    fn seat_next(
        &mut self,
        model: &LoadedModel,
        queue: &mut impl Seats,
        search: &mut BatchSearch,
    ) -> Result<(), GenerateError> {
        let at_once = model.device.gpu().is_some();
        loop {
            if self.states.ready.requests.is_empty() {
                self.encode_next(model, queue)?; // a request may have come since
            }
            let fewest = if at_once { self.states.ready.requests.len() } else { 1 };
            if !self.seat_ready(model, queue, search, fewest)? {
                return Ok(());
            }
            if at_once {
                self.encode_next(model, queue)?;
                return Ok(());
            }
        }
    }

    /// Gives rows to encoded requests, if there are at least `fewest` free ones. Returns whether it did.
    fn seat_ready(
        &mut self,
        model: &LoadedModel,
        queue: &mut impl Seats,
        search: &mut BatchSearch,
        fewest: usize,
    ) -> Result<bool, GenerateError> {
        let Self { session, states, rows, .. } = self;
        let SessionStates { source, memory, next, ready, columns, .. } = states;
        let (Some(source), Some(next)) = (source, next) else { return Ok(false) };
        let promised = |sentence: usize| match &self.search {
            Search::Device(device) => device.has_promised(sentence),
            Search::Host(_) => false,
        };
        let finished = search.sentences().iter().map(SentenceSearch::is_finished).enumerate();
        let free = || {
            let free = finished.clone().filter(|&(sentence, finished)| finished && !promised(sentence));
            free.map(|(sentence, _)| sentence)
        };
        let count = free().count().min(ready.requests.len());
        if count == 0 || count < fewest {
            return Ok(false);
        }
        let before = ready.seated;
        ready.seated += count;
        let seats: Vec<(usize, usize)> = free().zip(ready.requests.drain(..count)).collect();
        let places = (before..).zip(seats.iter().map(|&(sentence, _)| sentence));
        session.copy_rows(&next.copies(memory, places, [ready.length, source.length]));
        for (sentence, index) in seats {
            let request = queue.request(index);
            source.write_mask(session, sentence, request.input_ids.len());
            let prompt = &request.options.prompt;
            rows.seat(session, &model.config, sentence, search.rows_per_sentence(), prompt);
            write_columns(session, *columns, sentence, &request.options);
            match &mut self.search {
                Search::Device(device) => device.seat(session, sentence, index, request),
                Search::Host(host) => {
                    host.seat(sentence, request);
                    let finished = search.replace(sentence, request.options.clone())?;
                    queue.seat(sentence, index, finished);
                }
            }
        }
        Ok(true)
    }

    /// Submits every program once, to compile its pipelines.
    ///
    /// # Errors
    /// As [`DecodeSession::new`].
    pub fn rehearse(
        &mut self,
        model: &LoadedModel,
        request: &GenerateRequest,
        search: &mut BatchSearch,
    ) -> Result<(), GenerateError> {
        if self.key.source_length > 0 {
            let (program, _) = self.write_sources(model, &[request.source()])?;
            self.session.run(program, &model.weights);
        }
        self.begin(model, &[request], search);
        self.rows.write(&mut self.session, &model.config, &search.step());
        self.session.run(self.program(Program::Step), &model.weights);
        Ok(())
    }

    /// Reads the prompts without their last tokens, and prepares the search.
    fn begin(&mut self, model: &LoadedModel, requests: &[&GenerateRequest], search: &mut BatchSearch) {
        let prompts = requests.iter().map(|request| request.options.before_last());
        self.states.ready.requests.clear();
        self.rows.reset(&mut self.session, prompts.map(<[u32]>::len), self.key.rows_each());
        self.read_prompts(model, requests);
        for (sentence, request) in requests.iter().enumerate() {
            write_columns(&mut self.session, self.states.columns, sentence, &request.options);
        }
        if let Search::Host(host) = &mut self.search {
            host.begin(requests);
        }
        if let Search::Device(device) = &mut self.search {
            search.leave_edits_to_device();
            self.rows.write(&mut self.session, &model.config, &search.step());
            device.begin(&mut self.session, requests);
        }
    }

    /// Reads the prompts into the cache of each sentence's first row; padding is not stored.
    fn read_prompts(&mut self, model: &LoadedModel, requests: &[&GenerateRequest]) {
        let Some(PromptStates { input, cache_slots }) = &self.states.prompt else { return };
        let prompts = requests.iter().map(|request| request.options.before_last());
        let slots_each = self.key.rows_each() * self.key.capacity;
        let slots: Vec<u32> = prompts
            .clone()
            .enumerate()
            .flat_map(|(sentence, prompt)| {
                let first = (sentence * slots_each) as u32;
                let own = first..first + prompt.len() as u32;
                own.chain(std::iter::repeat(u32::MAX)).take(input.length)
            })
            .collect();
        input.write(&mut self.session, &model.config, prompts);
        self.session.write(*cache_slots, &slots);
        self.session.run(self.program(Program::ReadPrompt), &model.weights);
    }
}
