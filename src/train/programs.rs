//! The programs of a training, planned once: gradients of a batch, the optimizer's step, and losses alone.

use std::collections::BTreeMap;

use super::packed::{Capacity, PackedBatch, learns_positions, padding_of};
use super::{Recipe, TrainError};
use crate::cpu::LOSS_COLUMNS;
use crate::graph::{
    Graph, Plan, Rows, Session, SortedRows, State, StateTable, Training, Value, WeightTable, step_word,
};
use crate::kernels::AdapterClass;
use crate::model::blueprint::Blueprint;
use crate::model::config::{ModelConfig, NormKind};
use crate::model::decoder::{History, decoder, memory_key_values};
use crate::model::embedding::Tokens;
use crate::model::encoder::encoder;
use crate::model::{Memory, Sequences, Taps, Visible};
use crate::ops::{Ranges, TrainedWeight};
use crate::precision::Products;

/// Passes whose losses the device keeps.
pub(super) const SLOTS: usize = 16;

/// Logits that the loss computes at a time: as many as a GPU needs to be busy, or as a CPU's cache holds.
const LOGITS_ON_A_GPU: usize = 1 << 24;
const LOGITS_IN_A_CACHE: usize = 1 << 21;

/// The states of one side of a batch.
#[derive(Clone, Copy, Debug)]
struct SideStates {
    ids: State,
    positions: State,
    sorted_ids: SortedRows,
    sorted_positions: SortedRows,
}

/// The states of a training, besides the weights.
#[derive(Clone, Debug)]
pub(super) struct TrainStates {
    pub table: StateTable,
    pub step: State,
    pub metrics: State,
    pub clip: State,
    source: SideStates,
    target: SideStates,
    labels: State,
    /// Ranges: the encoder's own; the decoder's keys and queries; cross-attention's keys and queries.
    encoder: State,
    decoder: [State; 2],
    cross: [State; 2],
    /// Trained weights, in the order of the table.
    pub weights: Vec<TrainedWeight>,
    tied: Vec<(Rows, State, Vec<u32>)>,
}

impl SideStates {
    fn new(states: &mut StateTable, name: &str, rows: usize) -> Self {
        let mut sorted = |what: &str| SortedRows {
            order: states.u32(format!("{name} {what} order"), rows, 1),
            segments: states.u32(format!("{name} {what} segments"), rows + 2, 2),
        };
        let (sorted_ids, sorted_positions) = (sorted("tokens"), sorted("positions"));
        Self {
            ids: states.u32(format!("{name} tokens"), rows, 1),
            positions: states.u32(format!("{name} positions"), rows, 1),
            sorted_ids,
            sorted_positions,
        }
    }

    fn tokens(&self, g: &mut Graph) -> Tokens {
        Tokens { ids: g.state(self.ids), positions: g.state(self.positions), types: None }
    }

    fn write(&self, session: &mut Session, config: &ModelConfig, side: &super::packed::Side) {
        session.write(self.ids, &side.ids);
        session.write(self.positions, &side.positions);
        let mut sort = |states: SortedRows, table_rows: &[u32], padding| {
            let [order, segments] = side.sorted(table_rows, padding);
            session.write(states.order, &order);
            session.write(states.segments, &segments);
        };
        sort(self.sorted_ids, &side.ids, padding_of(config));
        if learns_positions(config) {
            sort(self.sorted_positions, &side.positions, None);
        }
    }
}

impl TrainStates {
    /// States for batches of a capacity. `trained`: indices of weights.
    pub fn new(blueprint: &Blueprint, trained: &[usize], capacity: Capacity) -> Self {
        let mut table = StateTable::default();
        let Capacity { source_rows, target_rows } = capacity;
        let step = table.u32("step", 1, step_word::COUNT);
        let metrics = table.f32("metrics", SLOTS, LOSS_COLUMNS);
        let clip = table.f32("clip", 1, 2);
        let source = SideStates::new(&mut table, "source", source_rows);
        let target = SideStates::new(&mut table, "target", target_rows);
        let labels = table.u32("labels", target_rows, 1);
        let mut ranges = |name: &str, rows: usize| table.u32(format!("{name} ranges"), rows, 2);
        let encoder = ranges("encoder", source_rows);
        let decoder = [ranges("decoder key", target_rows), ranges("decoder query", target_rows)];
        let cross = [ranges("cross key", target_rows), ranges("cross query", source_rows)];
        let weights =
            trained.iter().map(|&index| trained_weight(&mut table, &blueprint.table, index)).collect();
        let tied = blueprint
            .distance_biases()
            .into_iter()
            .flatten()
            .filter(|rows| trained.contains(&rows.index))
            .filter_map(|rows| {
                let first_rows = blueprint.tied_rows(rows.index)?;
                Some((rows, table.u32("first rows", rows.rows, 1), first_rows))
            });
        let tied = tied.collect();
        Self { step, metrics, clip, source, target, labels, encoder, decoder, cross, weights, tied, table }
    }

    /// Writes what never changes.
    pub fn write_constants(&self, session: &mut Session) {
        for (_, state, first_rows) in &self.tied {
            session.write(*state, first_rows);
        }
    }

    /// Writes a batch.
    pub fn write(&self, session: &mut Session, config: &ModelConfig, batch: &PackedBatch) {
        self.source.write(session, config, &batch.source);
        self.target.write(session, config, &batch.target);
        session.write(self.labels, &batch.labels);
        session.write(self.encoder, batch.source.sentences.as_flattened());
        session.write(self.decoder[0], batch.target.until_self().as_flattened());
        session.write(self.decoder[1], batch.target.self_to_end().as_flattened());
        session.write(self.cross[0], batch.target.others.as_flattened());
        session.write(self.cross[1], batch.source.others.as_flattened());
    }

    fn training(
        &self,
        recipe: &Recipe,
        class: AdapterClass,
        weights: usize,
        with_gradients: bool,
    ) -> Training {
        let gradient_of: BTreeMap<usize, State> =
            self.weights.iter().map(|weight| (weight.index, weight.gradient)).collect();
        // losses alone are exact
        let (products, [dropout, attention_dropout]) = match with_gradients {
            true => (recipe.products, [recipe.dropout, recipe.attention_dropout]),
            false => (Products::F32, [0.0; 2]),
        };
        Training {
            step: self.step,
            products,
            dropout,
            attention_dropout,
            logits_at_once: match class {
                AdapterClass::Hardware => LOGITS_ON_A_GPU,
                AdapterClass::Software => LOGITS_IN_A_CACHE,
            },
            weight_gradients: (0..weights).map(|index| gradient_of.get(&index).copied()).collect(),
            sorted: [self.source, self.target]
                .into_iter()
                .flat_map(|side| [(side.ids, side.sorted_ids), (side.positions, side.sorted_positions)])
                .collect(),
        }
    }

    /// Plans a pass over a batch, which adds its losses to the metrics and its gradients to those of the weights.
    pub fn pass(
        &self,
        config: &ModelConfig,
        blueprint: &Blueprint,
        recipe: &Recipe,
        class: AdapterClass,
        with_gradients: bool,
    ) -> Result<Plan, TrainError> {
        let label = if with_gradients { "gradients" } else { "losses" };
        let training = self.training(recipe, class, blueprint.table.entries().len(), with_gradients);
        let mut graph = Graph::for_training(label, training);
        let g = &mut graph;
        let last = self.forward(g, config, blueprint, with_gradients)?;
        g.enter("output");
        let labels = g.state(self.labels);
        let losses =
            g.softmax_loss(last, blueprint.output, labels, recipe.label_smoothing, with_gradients)?;
        g.sum_losses(losses, self.step, self.metrics)?;
        if with_gradients {
            g.add_gradients(losses)?;
        }
        Ok(Plan::new(graph))
    }

    /// Adds encoder and decoder; returns the last states of the decoder.
    fn forward(
        &self,
        g: &mut Graph,
        config: &ModelConfig,
        blueprint: &Blueprint,
        with_gradients: bool,
    ) -> Result<Value, TrainError> {
        // losses alone are those of the model as it will be used: with running statistics
        let normalizes = with_gradients && config.norm_kind == NormKind::Batch;
        let packed = |g: &mut Graph, rows: State, keys: State, queries: State| {
            let ranges = Ranges { keys: g.state(keys), queries: g.state(queries) };
            Sequences {
                batch: 1,
                length: rows.shape.rows,
                visible: Visible::Ranges(ranges),
                globals: None,
                ends: None,
                blocks: None,
            }
        };
        let tokens = self.source.tokens(g);
        let sequences = packed(g, self.source.ids, self.encoder, self.encoder);
        if normalizes {
            g.normalize_batches(self.encoder);
        }
        let memory = encoder(g, config, blueprint, tokens, &sequences, Taps::default())?;
        let crossing = packed(g, self.source.ids, self.cross[0], self.cross[1]);
        let key_values = memory_key_values(g, blueprint, memory)?;
        let memories: Vec<Memory> =
            key_values.into_iter().map(|key_values| Memory { key_values, sequences: crossing }).collect();
        if normalizes {
            g.normalize_batches(self.decoder[0]);
        }
        let tokens = self.target.tokens(g);
        let history = History::Whole(packed(g, self.target.ids, self.decoder[0], self.decoder[1]));
        Ok(decoder(g, config, blueprint, tokens, (&history, &memories), Taps::default())?.last)
    }

    /// Plans the optimizer's step.
    pub fn update(&self, recipe: &Recipe) -> Result<Plan, TrainError> {
        let mut graph = Graph::new("update");
        let tied: Vec<(usize, State)> =
            self.tied.iter().map(|(rows, first_rows, _)| (rows.index, *first_rows)).collect();
        graph.adam((&self.weights, &tied), recipe.adam(), recipe.max_norm, (self.step, self.clip))?;
        Ok(Plan::new(graph))
    }
}

fn trained_weight(table: &mut StateTable, weights: &WeightTable, index: usize) -> TrainedWeight {
    let entry = &weights.entries()[index];
    let shape = entry.layout_shape();
    let mut state = |what: &str| table.f32(format!("{what} of {}", entry.name), shape.rows, shape.width);
    TrainedWeight {
        index,
        elements: entry.rows * entry.width,
        gradient: state("gradient"),
        mean: state("mean"),
        square: state("square"),
    }
}
