use super::taps::{read_taps, unknown_tap};
use super::{ForwardError, ForwardInput, ForwardOutput, ForwardSelection, Tensor};
use crate::gpu::GpuError;
use crate::graph::{Graph, KeptTap, Plan, Session, State, StateTable, Value};
use crate::model::config::{Architecture, ModelConfig, StackConfig};
use crate::model::decoder::{History, decoder, memory_key_values, output};
use crate::model::embedding::Tokens;
use crate::model::encoder::encoder;
use crate::model::{AttentionKind, Globals, Memory, SelfAttentionKind, Sequences, Tap, Taps};
use crate::transformer::band_layout::band_layout;
use crate::transformer::end_states::Extent;
use crate::transformer::global_states::{globals_of, most_globals};
use crate::transformer::input_states::InputStates;
use crate::transformer::kept_attention::KeptLayer;
use crate::transformer::loaded::{HostModel, LoadedModel};

/// Inputs of one stack, and the values to read back.
struct Stack {
    input: InputStates,
    types: Option<State>,
    hidden_states: Vec<Tap>,
    attentions: Vec<Tap>,
    global_attentions: Vec<Tap>,
    cross_attentions: Vec<Tap>,
}

impl Stack {
    fn values(&self, g: &mut Graph, batch: usize) -> (Tokens, Sequences) {
        let (tokens, sequences) = self.input.values(g, batch);
        (Tokens { types: self.types.map(|types| g.state(types)), ..tokens }, sequences)
    }

    fn taps(&self) -> Taps<'_> {
        Taps {
            attentions: &self.attentions,
            global_attentions: &self.global_attentions,
            cross_attentions: &self.cross_attentions,
            hidden_states: &self.hidden_states,
            projections: &[],
        }
    }
}

struct States<'a> {
    table: StateTable,
    config: &'a ModelConfig,
    selection: &'a ForwardSelection,
    batch: usize,
    /// Room for the global tokens of each sentence.
    globals: usize,
}

impl States<'_> {
    fn attentions(
        &mut self,
        kind: &str,
        layers: &[usize],
        stack: &StackConfig,
        lengths: [usize; 2],
    ) -> Vec<Tap> {
        let [queries, keys] = lengths;
        let rows = self.batch * stack.heads * queries;
        let mut state = |layer| self.table.f32(format!("{kind} attentions {layer}"), rows, keys);
        (0..stack.layers).map(|layer| Tap(layers.contains(&layer).then(|| state(layer)))).collect()
    }

    /// The attentions of an encoder: of all tokens, and of global tokens.
    fn encoder_attentions(&mut self, length: usize) -> [Vec<Tap>; 2] {
        let (config, globals) = (self.config, self.globals);
        let heads = config.encoder.heads;
        let mut taps = [Vec::new(), Vec::new()];
        for layer in 0..config.encoder.layers {
            let kind = config.encoder_kind(layer).for_length(length);
            // global tokens, and columns of the weights
            let window = |radius: usize| 2 * radius.min(length) + 1;
            let (globals, width) = match kind {
                SelfAttentionKind::Window { radius, globals: Globals::None } => (0, window(*radius)),
                SelfAttentionKind::Window { radius, .. } => (globals, globals + window(*radius)),
                SelfAttentionKind::TransientGlobal { radius } => {
                    (0, config.block_tokens.map_or(0, |tokens| length / tokens) + window(*radius))
                }
                SelfAttentionKind::Blocks(blocks) => {
                    (blocks.end_tokens(), blocks.end_tokens() + 3 * blocks.size)
                }
                SelfAttentionKind::Full
                | SelfAttentionKind::Uniform
                | SelfAttentionKind::SharedQk
                | SelfAttentionKind::Linformer { .. }
                | SelfAttentionKind::Additive => (0, length),
            };
            let selected = self.selection.encoder_attentions.contains(&layer);
            let shapes = [("attentions", length, width), ("global attentions", globals, length)];
            for (taps, (name, queries, keys)) in taps.iter_mut().zip(shapes) {
                let rows = self.batch * heads * queries;
                let name = format!("encoder {name} {layer}");
                taps.push(Tap((selected && rows > 0).then(|| self.table.f32(name, rows, keys))));
            }
        }
        taps
    }

    fn stack(&mut self, name: &str, stack: &StackConfig, attentions: &[usize], length: usize) -> Stack {
        let rows = self.batch * length;
        let is_source = name == "encoder";
        let has_types = is_source && self.config.token_types > 0;
        let hidden_states = if self.selection.hidden_states { stack.layers + 1 } else { 0 };
        let d_model = self.config.d_model;
        let [own, global_attentions] = match is_source {
            true => self.encoder_attentions(length),
            false => Default::default(),
        };
        Stack {
            input: match is_source {
                true => {
                    let sparse = (self.config, self.globals);
                    let shape = (self.batch, length);
                    InputStates::of_source(&mut self.table, name, shape, sparse, Extent::Padded)
                }
                false => InputStates::new(&mut self.table, name, (self.batch, length)),
            },
            types: has_types.then(|| self.table.u32(format!("{name} token types"), rows, 1)),
            hidden_states: (0..hidden_states)
                .map(|layer| {
                    Tap(Some(self.table.f32(format!("{name} hidden states {layer}"), rows, d_model)))
                })
                .collect(),
            attentions: match is_source {
                true => own,
                false => self.attentions(name, attentions, stack, [length; 2]),
            },
            global_attentions,
            cross_attentions: Vec::new(),
        }
    }
}

/// A submitted pass, and the states of its selection.
pub struct Pass {
    session: Session,
    source: Option<Stack>,
    target: Option<Stack>,
    hidden: Option<State>,
    logits: Option<State>,
    length: usize,
    taps: Vec<KeptTap>,
}

impl Pass {
    /// Keeps only attention of the one sentence, by kind, then by layer.
    pub fn keep_attention(self, config: &ModelConfig, input: &ForwardInput) -> Vec<KeptLayer> {
        let taps =
            |stack: Option<&Stack>, of: fn(&Stack) -> &Vec<Tap>| stack.map(of).cloned().unwrap_or_default();
        let (source, target) = (self.source.as_ref(), self.target.as_ref());
        let global_attentions = taps(source, |stack| &stack.global_attentions);
        let requested = input.requested_globals().into_iter().next().unwrap_or_default();
        let kinds = [
            (AttentionKind::Encoder, taps(source, |stack| &stack.attentions)),
            (AttentionKind::Decoder, taps(target, |stack| &stack.attentions)),
            (AttentionKind::Cross, taps(target, |stack| &stack.cross_attentions)),
        ];
        let mut kept = Vec::new();
        for (kind, taps) in kinds {
            let heads = kind.stack(config).heads;
            for (layer, state) in
                taps.into_iter().enumerate().filter_map(|(layer, tap)| Some((layer, tap.0?)))
            {
                let weights = self.session.keep(state);
                let layout = match kind {
                    AttentionKind::Encoder => band_layout(config, layer, input.source_length, &requested),
                    AttentionKind::Decoder | AttentionKind::Cross => None,
                };
                kept.push(match layout {
                    None => KeptLayer::new(kind, layer, heads, weights),
                    Some(layout) => {
                        let of_globals = global_attentions.get(layer).and_then(|tap| tap.0);
                        let of_globals = of_globals.map(|state| self.session.keep(state));
                        KeptLayer::banded(layer, heads, weights, layout, of_globals)
                    }
                });
            }
        }
        kept
    }

    /// Waits for the pass and reads the selection.
    pub async fn read(
        self,
        model: &LoadedModel,
        input: &ForwardInput,
    ) -> Result<ForwardOutput, ForwardError> {
        let config = &model.config;
        let Self { session, source, target, hidden, logits, length, taps: named } = self;
        let ForwardInput { batch, source_length, .. } = *input;
        let read = Read { session: &session, batch };
        let (encoder, decoder) = (config.encoder.heads, config.decoder.heads);
        let taps = |stack: &Option<Stack>, of: fn(&Stack) -> &Vec<Tap>| {
            stack.as_ref().map(|stack| of(stack).clone()).unwrap_or_default()
        };
        let hidden_states = |stack| taps(stack, |stack| &stack.hidden_states);
        let attentions = |stack| taps(stack, |stack| &stack.attentions);
        let crossing = taps(&target, |stack| &stack.cross_attentions);
        let global_attentions = taps(&source, |stack| &stack.global_attentions);
        Ok(ForwardOutput {
            encoder_last_hidden_state: read.one(hidden, &[source_length]).await?,
            logits: read.one(logits, &[length]).await?,
            encoder_hidden_states: read.all(hidden_states(&source), &[source_length]).await?,
            decoder_hidden_states: read.all(hidden_states(&target), &[length]).await?,
            encoder_attentions: read.all(attentions(&source), &[encoder, source_length]).await?,
            encoder_global_attentions: read.by_head(global_attentions, encoder).await?,
            decoder_attentions: read.all(attentions(&target), &[decoder, length]).await?,
            cross_attentions: read.all(crossing, &[decoder, length]).await?,
            taps: read_taps(&session, model, &named, batch).await?,
        })
    }
}

/// Submits a pass.
pub fn run(
    model: &LoadedModel,
    input: &ForwardInput,
    selection: &ForwardSelection,
) -> Result<Pass, ForwardError> {
    let planned = Planned::new(model, input, selection)?;
    let Planned { plan, table, source, target, hidden, logits, length, taps } = planned;
    let (config, weights) = (&model.config, &model.weights);
    let mut session = Session::new(&model.device, weights, &table, vec![plan])?;
    let (ids, mask) = (&input.input_ids, &input.attention_mask);
    if let Some(source) = &source {
        source.input.write_padded(&mut session, config, ids, mask);
        let mut requested = input.requested_globals();
        requested.resize(input.batch, Vec::new());
        let globals: Vec<Vec<usize>> =
            requested.iter().map(|requested| globals_of(config, requested).to_vec()).collect();
        source.input.write_globals(&mut session, mask, &globals);
        if let Some(state) = source.types {
            let zeros = || vec![0; ids.len()];
            let types = Some(&input.token_type_ids).filter(|types| !types.is_empty());
            session.write(state, &types.cloned().unwrap_or_else(zeros));
        }
    }
    match (&target, config.architecture()) {
        (Some(target), Architecture::DecoderOnly) => {
            target.input.write_padded(&mut session, config, ids, mask);
        }
        (Some(target), _) => {
            let ones = vec![1; input.batch * length];
            target.input.write_padded(&mut session, config, &input.decoder_input_ids, &ones);
        }
        (None, _) => {}
    }
    session.run(session.program(0), weights);
    Ok(Pass { session, source, target, hidden, logits, length, taps })
}

pub struct Planned {
    pub plan: Plan,
    table: StateTable,
    source: Option<Stack>,
    target: Option<Stack>,
    hidden: Option<State>,
    logits: Option<State>,
    /// Tokens of a row of logits.
    length: usize,
    pub taps: Vec<KeptTap>,
}

impl Planned {
    /// Plans a pass for the sizes of `input`.
    pub fn new(
        model: &LoadedModel,
        input: &ForwardInput,
        selection: &ForwardSelection,
    ) -> Result<Self, ForwardError> {
        let HostModel { config, blueprint, .. } = &*model.host;
        let ForwardInput { batch, source_length, target_length, .. } = *input;
        let architecture = config.architecture();
        let length = match architecture {
            Architecture::EncoderDecoder => target_length,
            _ => source_length,
        };
        let requested = input.requested_globals();
        let globals = match config.encoder_globals() {
            Globals::Requested => requested.iter().map(Vec::len).max().unwrap_or(0),
            _ => most_globals(config, std::iter::empty()),
        };
        let mut states = States { table: StateTable::default(), config, selection, batch, globals };
        let source = (architecture != Architecture::DecoderOnly)
            .then(|| states.stack("encoder", &config.encoder, &selection.encoder_attentions, source_length));
        let mut target = (architecture != Architecture::EncoderOnly)
            .then(|| states.stack("decoder", &config.decoder, &selection.decoder_attentions, length));
        if let (Some(_), Some(target)) = (&source, &mut target) {
            let lengths = [target_length, source_length];
            target.cross_attentions =
                states.attentions("cross", &selection.cross_attentions, &config.decoder, lengths);
        }
        // a value has one place: a hidden state that is selected twice is read twice
        let same = selection.hidden_states
            && (config.last_hidden_is_normed() || blueprint.encoder_stack.final_norm.is_none());
        let hidden = source.as_ref().filter(|_| selection.hidden).and_then(|source| match same {
            true => source.hidden_states.last().and_then(|tap| tap.0),
            false => {
                let rows = batch * source_length;
                Some(states.table.f32("encoder_last_hidden_state", rows, config.d_model))
            }
        });
        let logits =
            selection.logits.then(|| states.table.f32("logits", batch * length, config.target_vocabulary));

        let mut graph = Graph::new("forward");
        let g = &mut graph;
        if !selection.taps.is_empty() {
            g.watch(selection.taps.clone());
        }
        let mut last = None;
        let mut memories = Vec::new();
        if let Some(source) = &source {
            let (tokens, sequences) = source.values(g, batch);
            let memory = encoder(g, config, blueprint, tokens, &sequences, source.taps())?;
            if let Some(state) = hidden.filter(|_| !same) {
                g.keep(memory, state)?;
            }
            let key_values = memory_key_values(g, blueprint, memory)?;
            memories = key_values.into_iter().map(|key_values| Memory { key_values, sequences }).collect();
            last = Some(memory);
        }
        if let Some(target) = &target {
            let (tokens, sequences) = target.values(g, batch);
            let history = History::Whole(sequences);
            let decoded = decoder(g, config, blueprint, tokens, (&history, &memories), target.taps())?;
            last = Some(decoded.last);
        }
        if let Some(last) = last.filter(|_| logits.is_some() || g.is_watched()) {
            add_logits(g, model, last, logits)?;
        }
        let taps = graph.keep_taps(&mut states.table)?.map_err(unknown_tap)?;
        let (plan, table) = (Plan::new(graph), states.table);
        Ok(Self { plan, table, source, target, hidden, logits, length, taps })
    }
}

/// Adds the logits, which `state` keeps if it is given; taps may want them, too.
fn add_logits(
    g: &mut Graph,
    HostModel { config, blueprint, .. }: &HostModel,
    last: Value,
    state: Option<State>,
) -> Result<(), ForwardError> {
    let logits = output(g, config, blueprint, last, None)?;
    if let Some(state) = state {
        g.keep(logits, state)?;
    }
    Ok(())
}

/// Reads states as tensors, `[batch, …, width]`.
struct Read<'a> {
    session: &'a Session,
    batch: usize,
}

impl Read<'_> {
    async fn one(&self, state: Option<State>, sizes: &[usize]) -> Result<Tensor, GpuError> {
        match state {
            Some(state) => {
                let shape = [&[self.batch], sizes, &[state.shape.width]].concat();
                Ok(Tensor { shape, data: self.session.read(state).await? })
            }
            None => Ok(Tensor { shape: vec![0], data: Vec::new() }),
        }
    }

    /// Tensors `[batch, heads, …, width]`.
    async fn by_head(&self, taps: Vec<Tap>, heads: usize) -> Result<Vec<Tensor>, GpuError> {
        let mut tensors = Vec::new();
        for state in taps.into_iter().filter_map(|tap| tap.0) {
            let rows = state.shape.rows / (self.batch * heads);
            tensors.push(self.one(Some(state), &[heads, rows]).await?);
        }
        Ok(tensors)
    }

    async fn all(&self, taps: Vec<Tap>, sizes: &[usize]) -> Result<Vec<Tensor>, GpuError> {
        let mut tensors = Vec::new();
        for state in taps.into_iter().filter_map(|tap| tap.0) {
            tensors.push(self.one(Some(state), sizes).await?);
        }
        Ok(tensors)
    }
}
