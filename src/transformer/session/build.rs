use super::key::SearchKey;
use super::states::{NextStates, PromptStates, SessionStates};
use super::{DecodeSession, Program, Search, SessionKey};
use crate::graph::{Columns, Graph, GraphError, Plan, Session, State, StateTable, Value};
use crate::kernels::AdapterClass;
use crate::model::decoder::{History, decoder, memory_key_values, output};
use crate::model::embedding::Tokens;
use crate::model::encoder::encoder;
use crate::model::{AttentionKind, LayerCache, Memory, Taps, weights_of};
use crate::transformer::device_search::DeviceSearch;
use crate::transformer::error::GenerateError;
use crate::transformer::host_search::HostSearch;
use crate::transformer::input_states::InputStates;
use crate::transformer::loaded::{HostModel, LoadedModel};
use crate::transformer::rows::Rows;

impl DecodeSession {
    pub fn new(model: &LoadedModel, key: SessionKey) -> Result<Self, GenerateError> {
        let class = model.device.class();
        let Planned { table, states, search, programs, plans } = Planned::new(model, &key, class)?;
        let session = Session::new(&model.device, &model.weights, &table, plans)?;
        let rows = Rows::new(states.rows, key.capacity);
        Ok(Self { bytes: table.bytes(), session, programs, states, rows, search, key })
    }
}

/// A session without a device.
pub struct Planned {
    table: StateTable,
    states: SessionStates,
    search: Search,
    programs: Vec<Program>,
    pub plans: Vec<Plan>,
}

impl Planned {
    pub fn new(model: &LoadedModel, key: &SessionKey, class: AdapterClass) -> Result<Self, GenerateError> {
        let mut table = StateTable::default();
        let states = SessionStates::new(model, key, &mut table);
        let search = match &key.search {
            SearchKey::Host(search) => {
                Search::Host(Box::new(HostSearch::new(*search, &key.scoring, key.rows_each(), &mut table)))
            }
            SearchKey::Device(search) => {
                let work = model.blueprint.table.elements() * key.scoring.rows;
                let search = {
                    let rows = (&states.rows, states.columns);
                    DeviceSearch::new(search.clone(), &mut table, rows, class, work)
                };
                Search::Device(Box::new(search))
            }
        };
        let build = Build { model, states: &states, batch: key.batch };
        let mut plans = vec![(Program::Step, build.step(&search)?)];
        if let Some(source) = states.source.as_ref().filter(|_| !key.groups) {
            plans.push((Program::Encode, build.encode("encode", source, key.batch, &states.memory)?));
        }
        if let Some(next) = states.next.as_ref().filter(|_| !key.groups) {
            for &length in &key.next_lengths {
                let program = Program::EncodeNext { sources: key.next, length };
                plans.push((program, build.encode_next(next, key.next, length)?));
            }
        }
        if let Some(prompt) = &states.prompt {
            plans.push((Program::ReadPrompt, build.read_prompt(prompt)?));
        }
        let (programs, plans) = plans.into_iter().unzip();
        Ok(Self { table, states, search, programs, plans })
    }
}

pub(super) struct Build<'a> {
    pub model: &'a LoadedModel,
    pub states: &'a SessionStates,
    pub batch: usize,
}

impl Build<'_> {
    fn step(&self, search: &Search) -> Result<Plan, GenerateError> {
        let HostModel { config, blueprint, .. } = &*self.model.host;
        let SessionStates { rows, caches, attention, .. } = self.states;
        let mut step = Graph::new("decode step");
        let g = &mut step;
        let memory = self.states.memories(g, self.batch);
        let target = Tokens { ids: g.state(rows.tokens), positions: g.state(rows.positions), types: None };
        let history = History::Cached(caches);
        let decoded = decoder(g, config, blueprint, target, (&history, &memory), Taps::default())?;
        if let Some(attention) = attention {
            attention.keep(g, &decoded.queries, rows.cache_slots)?;
        }
        let logits = output(g, config, blueprint, decoded.last, self.states.columns)?;
        match search {
            Search::Host(search) => {
                let attention = search.wants_attention().then(|| self.placing(g, &decoded.queries, &memory));
                search.add_to(g, logits, attention.transpose()?)?;
            }
            Search::Device(search) => search.add_to(g, logits)?,
        }
        Ok(Plan::new(step))
    }

    /// Adds the weights of the cross-attention that tells where a hypothesis is in its source: of the last layer, whose
    /// attention follows the token that is about to be written.
    fn placing(&self, g: &mut Graph, queries: &[Value], memory: &[Memory]) -> Result<Value, GraphError> {
        let HostModel { config, blueprint, .. } = &*self.model.host;
        let layer = memory.len() - 1;
        let of_layer = queries.len() / memory.len();
        let queries = Columns { value: queries[of_layer * (layer + 1) - 1], first: 0 };
        let Memory { key_values, sequences } = memory[layer];
        let keys = Columns { value: key_values, first: 0 };
        let mask = sequences.visible.mask().expect("a search's source has a mask");
        weights_of(g, config, blueprint, (AttentionKind::Cross, layer), [queries, keys], mask)
    }

    /// Encodes a group of sources.
    pub fn encode_next(
        &self,
        next: &NextStates,
        sources: usize,
        length: usize,
    ) -> Result<Plan, GenerateError> {
        let NextStates { input, memory } = next.part(sources, length);
        self.encode("encode the next", &input, sources, &memory)
    }

    /// Encodes sources, and makes the keys and values of every cross-attention.
    fn encode(
        &self,
        label: &str,
        source: &InputStates,
        batch: usize,
        memory_states: &[State],
    ) -> Result<Plan, GenerateError> {
        let HostModel { config, blueprint, .. } = &*self.model.host;
        let mut encode = Graph::new(label);
        let g = &mut encode;
        let (tokens, sequences) = source.values(g, batch);
        let attention = self.states.attention.as_ref();
        let projections = attention.map(|attention| &attention.projections[..]).unwrap_or_default();
        let taps = Taps { projections, ..Taps::default() };
        let memory = encoder(g, config, blueprint, tokens, &sequences, taps)?;
        for (key_values, &state) in memory_key_values(g, blueprint, memory)?.into_iter().zip(memory_states) {
            g.keep(key_values, state)?;
        }
        Ok(Plan::new(encode))
    }

    fn read_prompt(&self, prompt: &PromptStates) -> Result<Plan, GenerateError> {
        let HostModel { config, blueprint, .. } = &*self.model.host;
        let PromptStates { input, cache_slots } = prompt;
        let mut read = Graph::new("prompt");
        let g = &mut read;
        let caches: Vec<LayerCache> =
            self.states.caches.iter().map(|cache| cache.with_slots(*cache_slots)).collect();
        let memory = self.states.memories(g, self.batch);
        let (tokens, sequences) = input.values(g, self.batch);
        let history = History::Prompt(sequences, &caches);
        let decoded = decoder(g, config, blueprint, tokens, (&history, &memory), Taps::default())?;
        if let Some(attention) = &self.states.attention {
            attention.keep(g, &decoded.queries, *cache_slots)?;
        }
        Ok(Plan::new(read))
    }
}
