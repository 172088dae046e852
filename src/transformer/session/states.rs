use super::SessionKey;
use crate::decode::DecodeOptions;
use crate::graph::{Graph, RowCopy, Session, State, StateTable};
use crate::model::config::Mixer;
use crate::model::{Cache, CellCache, LayerCache, Memory};
use crate::scores::NO_TOKEN;
use crate::transformer::attention_inputs::AttentionInputs;
use crate::transformer::end_states::Extent;
use crate::transformer::input_states::InputStates;
use crate::transformer::loaded::LoadedModel;
use crate::transformer::rows::RowStates;

/// The states of a session, without those of its search.
pub struct SessionStates {
    pub source: Option<InputStates>,
    /// Keys and values of cross-attention, for each layer: `[batch * source length, keys and values]`.
    pub memory: Vec<State>,
    /// The states of a group of sources; `None` if the whole batch is encoded at once, and no request takes over rows.
    pub next: Option<NextStates>,
    pub ready: Ready,
    pub prompt: Option<PromptStates>,
    pub rows: RowStates,
    pub caches: Vec<LayerCache>,
    pub attention: Option<AttentionInputs>,
    /// Output columns of each sentence, u32 `[batch, columns]`: ascending tokens, then [`NO_TOKEN`].
    pub columns: Option<State>,
}

/// A group of sources that are encoded together, e.g. while others are decoded.
pub struct NextStates {
    pub input: InputStates,
    /// As [`SessionStates::memory`], for fewer sentences.
    pub memory: Vec<State>,
}

impl NextStates {
    /// The states of fewer or shorter sources, in the same memory.
    pub fn part(&self, sources: usize, length: usize) -> Self {
        let memory = self.memory.iter().map(|state| state.part(sources * length, state.shape.width));
        Self { input: self.input.part(sources, length), memory: memory.collect() }
    }

    /// Copies of the group's memory to that of the batch.
    ///
    /// * `memory`: [`SessionStates::memory`]
    /// * `places`: places in the group, and the sentences in the batch
    /// * `length`, `room`: padded tokens of each source in the group and in the batch
    pub fn copies(
        &self,
        memory: &[State],
        places: impl Iterator<Item = (usize, usize)>,
        [length, room]: [usize; 2],
    ) -> Vec<RowCopy> {
        let copies = places.flat_map(|(place, sentence)| {
            let layers = self.memory.iter().zip(memory);
            let (first, at) = (place * length, sentence * room);
            layers.map(move |(&from, &to)| RowCopy { from, first, to, at, rows: length })
        });
        copies.collect()
    }
}

/// The requests whose memory is computed.
#[derive(Default)]
pub struct Ready {
    /// Their indices in the queue, in its order.
    pub requests: Vec<usize>,
    /// Number of requests before them, which have seats by now.
    pub seated: usize,
    /// Padded length of each, tokens.
    pub length: usize,
}

/// Prompts without their last tokens.
pub struct PromptStates {
    pub input: InputStates,
    /// Cache slots of the tokens.
    pub cache_slots: State,
}

impl SessionStates {
    pub fn new(model: &LoadedModel, key: &SessionKey, states: &mut StateTable) -> Self {
        let &SessionKey { batch, source_length, globals, prompt_length, capacity, .. } = key;
        let rows = key.scoring.rows;
        let stack = model.config.decoder;
        let input = |states: &mut StateTable, name: &str, shape| {
            InputStates::of_source(states, name, shape, (&model.config, globals), Extent::Own)
        };
        let source = (batch * source_length > 0).then(|| input(states, "source", (batch, source_length)));
        let prompt = (batch * prompt_length > 0).then(|| {
            let input = InputStates::new(states, "prompt", (batch, prompt_length));
            let cache_slots = states.u32("prompt's cache slots", batch * prompt_length, 1);
            PromptStates { input, cache_slots }
        });
        let row_states = RowStates::new(states, rows, capacity);
        let memory_layers = if source.is_some() { stack.layers } else { 0 };
        let memory_width = stack.key_width() + stack.value_width();
        let memory_of = |states: &mut StateTable, name: &str, rows: usize| -> Vec<State> {
            (0..memory_layers)
                .map(|layer| states.f32(format!("{name} {layer}"), rows, memory_width))
                .collect()
        };
        let memory = memory_of(states, "memory", batch * source_length);
        let next = (key.next * source_length > 0).then(|| NextStates {
            input: input(states, "next source", (key.next, source_length)),
            memory: memory_of(states, "next memory", key.next * source_length),
        });
        let attention = key
            .attention
            .then(|| AttentionInputs::new(states, model, batch * source_length, rows * capacity));
        let RowStates { cache_slots, slots, key_counts, .. } = row_states;
        let mut of_layer = |name, layer, width| states.f32(format!("{name} {layer}"), rows * capacity, width);
        let caches = (0..stack.layers).map(|layer| match model.config.decoder_mixer {
            Mixer::Attention => LayerCache::KeyValue(Cache {
                keys: of_layer("key cache", layer, stack.key_width()),
                values: of_layer("value cache", layer, stack.value_width()),
                cache_slots,
                slots,
                key_counts,
            }),
            Mixer::Ssru => LayerCache::Cells(CellCache {
                cells: of_layer("cells", layer, model.config.d_model),
                cache_slots,
                slots,
                key_counts,
            }),
        });
        let caches = caches.collect();
        let columns = (key.columns > 0).then(|| states.u32("output columns", batch, key.columns));
        let ready = Ready::default();
        Self { source, memory, next, ready, prompt, rows: row_states, caches, attention, columns }
    }

    /// The memory of the batch for cross-attention; empty without an encoder.
    pub fn memories(&self, g: &mut Graph, batch: usize) -> Vec<Memory> {
        let Some(source) = &self.source else { return Vec::new() };
        let (_, sequences) = source.values(g, batch);
        self.memory.iter().map(|&state| Memory { key_values: g.state(state), sequences }).collect()
    }
}

/// Writes the output columns of a sentence to [`SessionStates::columns`].
pub fn write_columns(session: &mut Session, state: Option<State>, sentence: usize, options: &DecodeOptions) {
    let (Some(state), Some(columns)) = (state, options.columns.listed()) else { return };
    let room = std::iter::repeat_n(NO_TOKEN, state.shape.width - columns.len());
    let padded: Vec<u32> = columns.iter().copied().chain(room).collect();
    session.write_rows(state, sentence, &padded);
}
