//! Building a graph: nodes are appended in the order in which they will run, with known shapes; what does not fit is
//! an error here, not on the device.

use super::GraphError;
use super::op::{Columns, Linear, Node, Normalization, Op, SearchStates};
use super::weights::{Matrix, Rows};
use crate::activation::Activation;
use crate::join::Join;
use crate::kernels::append_rows::MAX_PARTS;
use crate::kernels::attention::AttentionShape;
use crate::kernels::bans::ban_words;
use crate::kernels::cached_attention::CachedAttentionShape;
use crate::kernels::edits::HistoryEdits;
use crate::kernels::log_probability;
use crate::kernels::log_softmax_top_k::TopKShape;
use crate::kernels::search::RING;
use crate::shape::{Dtype, Shape};

/// A value of one graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub(super) usize);

/// A tensor that outlives a run: an input that the host writes, a cache, a result that the host reads. Shared by the
/// programs of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub(super) index: usize,
    /// Its shape.
    pub shape: Shape,
    /// Its type.
    pub dtype: Dtype,
}

/// The states of a session.
#[derive(Clone, Debug, Default)]
pub struct StateTable {
    pub(super) entries: Vec<(String, State)>,
}

impl StateTable {
    /// Adds an f32 state.
    pub fn f32(&mut self, name: impl Into<String>, rows: usize, width: usize) -> State {
        self.add(name.into(), Shape::new(rows, width), Dtype::F32)
    }

    /// Adds a u32 state.
    pub fn u32(&mut self, name: impl Into<String>, rows: usize, width: usize) -> State {
        self.add(name.into(), Shape::new(rows, width), Dtype::U32)
    }

    /// Memory that they take, bytes; a device may pad rows.
    pub fn bytes(&self) -> usize {
        self.entries.iter().map(|(_, state)| state.shape.elements() * 4).sum()
    }

    fn add(&mut self, name: String, shape: Shape, dtype: Dtype) -> State {
        let state = State { index: self.entries.len(), shape, dtype };
        self.entries.push((name, state));
        state
    }
}

/// Where a value lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// In a buffer that the plan assigns for as long as the value is needed.
    Planned,
    /// In a state.
    State(State),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ValueInfo {
    pub shape: Shape,
    pub dtype: Dtype,
    pub home: Home,
}

/// A computation: nodes over values, in run order.
#[derive(Clone, Debug)]
pub struct Graph {
    pub(super) label: String,
    pub(super) values: Vec<ValueInfo>,
    pub(super) nodes: Vec<Node>,
    place: String,
}

/// Elements that one value may have: beyond it, indices would not fit the device's 32 bits.
const MAX_ELEMENTS: usize = 1 << 31;

impl Graph {
    /// An empty graph. The label stands on the device's buffers and passes.
    pub fn new(label: impl Into<String>) -> Self {
        Self { label: label.into(), values: Vec::new(), nodes: Vec::new(), place: String::new() }
    }

    /// Says which place in the model the next nodes belong to, e.g. `decoder.2.cross`.
    pub fn enter(&mut self, place: impl Into<String>) {
        self.place = place.into();
    }

    /// The shape of a value.
    pub fn shape(&self, value: Value) -> Shape {
        self.values[value.0].shape
    }

    /// A state as a value of this graph.
    pub fn state(&mut self, state: State) -> Value {
        let known = self.values.iter().position(|value| value.home == Home::State(state));
        Value(known.unwrap_or_else(|| {
            self.values.push(ValueInfo { shape: state.shape, dtype: state.dtype, home: Home::State(state) });
            self.values.len() - 1
        }))
    }

    /// Has a value computed straight into a state, where it outlives the run.
    ///
    /// # Errors
    /// [`GraphError::Shape`] when the state has another shape.
    pub fn keep(&mut self, value: Value, state: State) -> Result<(), GraphError> {
        self.expect("keep", "value", value, state.shape, state.dtype)?;
        self.values[value.0].home = Home::State(state);
        Ok(())
    }

    /// See [`Op::Embed`]. `[rows, d_model]`
    ///
    /// # Errors
    /// [`GraphError::Shape`]
    pub fn embed(
        &mut self,
        tokens: Value,
        positions: Option<(Value, Rows)>,
        table: Matrix,
        scale: f32,
    ) -> Result<Value, GraphError> {
        let rows = self.shape(tokens).rows;
        self.expect("embed", "tokens", tokens, Shape::new(rows, 1), Dtype::U32)?;
        if let Some((index, position_table)) = positions {
            self.expect("embed", "positions", index, Shape::new(rows, 1), Dtype::U32)?;
            let got = Shape::new(position_table.rows, position_table.width);
            self.agree("embed", "position table", got, Shape::new(position_table.rows, table.inputs))?;
        }
        self.push(Op::Embed { tokens, positions, table, scale }, Shape::new(rows, table.inputs))
    }

    /// `y = activation(scale·x·Wᵀ + b) + residual`, see [`Op::Linear`]. `[rows, outputs]`
    ///
    /// # Errors
    /// [`GraphError::Shape`]
    pub fn linear(
        &mut self,
        x: Value,
        linear: Linear,
        activation: Activation,
        residual: Option<Value>,
    ) -> Result<Value, GraphError> {
        self.joined_linear(x, linear, activation, residual.map(|residual| (Join::Add, residual)))
    }

    /// `y = activation(scale·x·Wᵀ + b) ⊙ factor`: one half of a gated feed-forward network, with the other half as its
    /// factor. `[rows, outputs]`. Shazeer 2020, "GLU Variants Improve Transformer", section 2.
    ///
    /// # Errors
    /// [`GraphError::Shape`]
    pub fn gated_linear(
        &mut self,
        x: Value,
        linear: Linear,
        activation: Activation,
        factor: Value,
    ) -> Result<Value, GraphError> {
        self.joined_linear(x, linear, activation, Some((Join::Multiply, factor)))
    }

    fn joined_linear(
        &mut self,
        x: Value,
        linear: Linear,
        activation: Activation,
        join: Option<(Join, Value)>,
    ) -> Result<Value, GraphError> {
        let made = self.linear_output("linear", x, linear)?;
        if let Some((join, value)) = join {
            let input = match join {
                Join::Add => "residual",
                Join::Multiply => "factor",
            };
            self.expect("linear", input, value, made, Dtype::F32)?;
        }
        self.push(Op::Linear { x, linear, activation, join }, made)
    }

    /// What a linear layer makes of x, which has to fit.
    fn linear_output(&self, op: &'static str, x: Value, linear: Linear) -> Result<Shape, GraphError> {
        let Shape { rows, .. } = self.shape(x);
        let Matrix { outputs, inputs, .. } = linear.weight;
        self.expect(op, "x", x, Shape::new(rows, inputs), Dtype::F32)?;
        if let Some(bias) = linear.bias {
            self.agree(op, "bias", Shape::new(1, bias.length), Shape::new(1, outputs))?;
        }
        Ok(Shape::new(rows, outputs))
    }

    /// A [layer norm](Self::layer_norm) and a [linear layer](Self::linear) of it, see [`Op::NormalizedLinear`]: the norm,
    /// `[rows, inputs]`, and the layer, `[rows, outputs]`.
    ///
    /// # Errors
    /// [`GraphError::Shape`]
    pub fn normalized_linear(
        &mut self,
        x: Value,
        residual: Option<Value>,
        norm: Normalization,
        linear: Linear,
        activation: Activation,
    ) -> Result<[Value; 2], GraphError> {
        let op = "normalized_linear";
        let shape = self.normalized(op, x, residual, norm)?;
        let made = self.linear_output(op, x, linear)?;
        let normalized = self.value(shape, Dtype::F32);
        let op = Op::NormalizedLinear { x, residual, norm, linear, activation, normalized };
        Ok([normalized, self.push(op, made)?])
    }

    /// See [`Op::Attention`]. `[batch * queries, heads * d_value]`
    ///
    /// # Errors
    /// [`GraphError::Shape`]
    pub fn attention(
        &mut self,
        shape: AttentionShape,
        queries: Columns,
        keys: Columns,
        values: Columns,
        key_mask: Value,
        distance_bias: Option<Rows>,
    ) -> Result<Value, GraphError> {
        let AttentionShape { batch, heads, d_value, .. } = shape;
        self.attention_inputs("attention", &shape, queries, keys, key_mask)?;
        self.columns("attention", "values", values, batch * shape.keys, heads * d_value)?;
        self.distance_bias("attention", distance_bias, heads)?;
        let op = Op::Attention { shape, queries, keys, values, key_mask, distance_bias };
        self.push(op, Shape::new(batch * shape.queries, heads * d_value))
    }

    /// See [`Op::AttentionWeights`]. `[batch * heads * queries, keys]`
    ///
    /// # Errors
    /// [`GraphError::Shape`]
    pub fn attention_weights(
        &mut self,
        shape: AttentionShape,
        queries: Columns,
        keys: Columns,
        key_mask: Value,
        distance_bias: Option<Rows>,
    ) -> Result<Value, GraphError> {
        self.attention_inputs("attention_weights", &shape, queries, keys, key_mask)?;
        self.distance_bias("attention_weights", distance_bias, shape.heads)?;
        let made = Shape::new(shape.batch * shape.heads * shape.queries, shape.keys);
        self.push(Op::AttentionWeights { shape, queries, keys, key_mask, distance_bias }, made)
    }

    fn attention_inputs(
        &self,
        op: &'static str,
        shape: &AttentionShape,
        queries: Columns,
        keys: Columns,
        key_mask: Value,
    ) -> Result<(), GraphError> {
        let width = shape.heads * shape.d_head;
        self.columns(op, "queries", queries, shape.batch * shape.queries, width)?;
        self.columns(op, "keys", keys, shape.batch * shape.keys, width)?;
        self.expect(op, "key_mask", key_mask, Shape::new(shape.batch, shape.keys), Dtype::U32)
    }

    fn distance_bias(&self, op: &'static str, table: Option<Rows>, heads: usize) -> Result<(), GraphError> {
        let Some(Rows { rows, width, .. }) = table else { return Ok(()) };
        if rows % 2 == 1 && width == heads {
            return Ok(());
        }
        let want = format!("an odd number of rows of {heads} heads");
        Err(self.mismatch(op, "distance_bias", Shape::new(rows, width), want))
    }

    /// See [`Op::CachedAttention`]. `[rows, heads * d_value]`; the widths of a head are those of the caches.
    ///
    /// # Errors
    /// [`GraphError::Shape`]
    #[expect(clippy::too_many_arguments, reason = "each is a tensor of the operator's formula")]
    pub fn cached_attention(
        &mut self,
        heads: usize,
        scale: f32,
        qkv: Value,
        cache_slots: State,
        key_cache: State,
        value_cache: State,
        slots: State,
        key_counts: State,
        distance_bias: Option<Rows>,
    ) -> Result<Value, GraphError> {
        let op = "cached_attention";
        let Shape { rows, width: capacity } = slots.shape;
        let (key_width, value_width) = (key_cache.shape.width, value_cache.shape.width);
        let [cache_slots, key_cache, value_cache, slots, key_counts] =
            [cache_slots, key_cache, value_cache, slots, key_counts].map(|state| self.state(state));
        self.expect(op, "qkv", qkv, Shape::new(rows, 2 * key_width + value_width), Dtype::F32)?;
        self.expect(op, "cache_slots", cache_slots, Shape::new(rows, 1), Dtype::U32)?;
        self.expect(op, "slots", slots, Shape::new(rows, capacity), Dtype::U32)?;
        self.expect(op, "key_counts", key_counts, Shape::new(rows, 1), Dtype::U32)?;
        for (name, cache, width) in
            [("key_cache", key_cache, key_width), ("value_cache", value_cache, value_width)]
        {
            let shape = Shape::new(rows * capacity, width);
            self.expect(op, name, cache, shape, Dtype::F32)?;
            if heads == 0 || !width.is_multiple_of(heads) {
                return Err(self.mismatch(op, name, shape, format!("a multiple of {heads} heads wide")));
            }
        }
        self.distance_bias(op, distance_bias, heads)?;
        let (d_head, d_value) = (key_width / heads, value_width / heads);
        let shape = CachedAttentionShape { rows, heads, d_head, d_value, capacity, scale };
        let op = Op::CachedAttention {
            shape,
            qkv,
            cache_slots,
            key_cache,
            value_cache,
            slots,
            key_counts,
            distance_bias,
        };
        self.push(op, Shape::new(rows, value_width))
    }

    /// See [`Op::AppendKv`].
    ///
    /// # Errors
    /// [`GraphError::Shape`]
    pub fn append_kv(
        &mut self,
        qkv: Value,
        cache_slots: State,
        key_cache: State,
        value_cache: State,
    ) -> Result<(), GraphError> {
        let [cache_slots, key_cache, value_cache] =
            [cache_slots, key_cache, value_cache].map(|state| self.state(state));
        let rows = self.shape(qkv).rows;
        let (keys, values) = (self.shape(key_cache), self.shape(value_cache));
        let width = 2 * keys.width + values.width;
        self.expect("append_kv", "qkv", qkv, Shape::new(rows, width), Dtype::F32)?;
        self.expect("append_kv", "cache_slots", cache_slots, Shape::new(rows, 1), Dtype::U32)?;
        self.expect("append_kv", "key_cache", key_cache, keys, Dtype::F32)?;
        let value_shape = Shape::new(keys.rows, values.width);
        self.expect("append_kv", "value_cache", value_cache, value_shape, Dtype::F32)?;
        let op = Op::AppendKv { qkv, cache_slots, key_cache, value_cache };
        self.nodes.push(Node { place: self.place.clone(), op, output: None });
        Ok(())
    }

    /// See [`Op::AppendRows`].
    ///
    /// # Errors
    /// [`GraphError::Shape`]
    ///
    /// # Panics
    /// For no parts, or more than [`MAX_PARTS`].
    pub fn append_rows(
        &mut self,
        parts: &[Value],
        cache_slots: State,
        cache: State,
    ) -> Result<(), GraphError> {
        let op = "append_rows";
        let [cache_slots, cache] = [cache_slots, cache].map(|state| self.state(state));
        let (rows, kept) = (self.shape(parts[0]).rows, self.shape(cache));
        if !kept.width.is_multiple_of(parts.len()) {
            return Err(self.mismatch(op, "cache", kept, format!("a multiple of {} wide", parts.len())));
        }
        for &value in parts {
            self.columns(op, "x", Columns { value, first: 0 }, rows, kept.width / parts.len())?;
        }
        self.expect(op, "cache_slots", cache_slots, Shape::new(rows, 1), Dtype::U32)?;
        self.expect(op, "cache", cache, kept, Dtype::F32)?;
        let mut all = [None; MAX_PARTS];
        all[..parts.len()].iter_mut().zip(parts).for_each(|(place, &part)| *place = Some(part));
        let op = Op::AppendRows { parts: all, cache_slots, cache };
        self.nodes.push(Node { place: self.place.clone(), op, output: None });
        Ok(())
    }

    /// See [`Op::LayerNorm`]. `[rows, d_model]`
    ///
    /// # Errors
    /// [`GraphError::Shape`]
    pub fn layer_norm(
        &mut self,
        x: Value,
        residual: Option<Value>,
        norm: Normalization,
    ) -> Result<Value, GraphError> {
        let shape = self.normalized("layer_norm", x, residual, norm)?;
        self.push(Op::LayerNorm { x, residual, norm }, shape)
    }

    /// What a norm makes of x, which has to fit.
    fn normalized(
        &self,
        op: &'static str,
        x: Value,
        residual: Option<Value>,
        norm: Normalization,
    ) -> Result<Shape, GraphError> {
        let Normalization { gamma, beta, .. } = norm;
        let shape = self.shape(x);
        self.expect(op, "x", x, Shape::new(shape.rows, gamma.length), Dtype::F32)?;
        if let Some(beta) = beta {
            self.agree(op, "beta", Shape::new(1, beta.length), Shape::new(1, gamma.length))?;
        }
        if let Some(residual) = residual {
            self.expect(op, "residual", residual, shape, Dtype::F32)?;
        }
        Ok(shape)
    }

    /// Whether a node reads the value, or the host may: where it is kept in a state.
    pub(super) fn is_wanted(&self, value: Value) -> bool {
        self.values[value.0].home != Home::Planned
            || self.nodes.iter().any(|node| node.op.inputs().contains(&value))
    }

    /// See [`Op::LogProbability`]. `[rows, 1]`
    ///
    /// # Errors
    /// [`GraphError::Shape`]
    pub fn log_probability(&mut self, logits: Value, targets: Value) -> Result<Value, GraphError> {
        let Shape { rows, width } = self.shape(logits);
        self.expect("log_probability", "logits", logits, Shape::new(rows, width), Dtype::F32)?;
        self.expect("log_probability", "targets", targets, Shape::new(rows, 1), Dtype::U32)?;
        let chunks = self.value(Shape::new(1, log_probability::chunk_elements(rows, width)), Dtype::F32);
        self.push(Op::LogProbability { logits, targets, chunks }, Shape::new(rows, 1))
    }

    /// See [`Op::LogSoftmaxTopK`]. u32 `[rows, 2 * candidates]`
    ///
    /// # Errors
    /// [`GraphError::Shape`]
    pub fn log_softmax_top_k(
        &mut self,
        shape: TopKShape,
        logits: Value,
        edits: Option<State>,
    ) -> Result<Value, GraphError> {
        let name = "log_softmax_top_k";
        self.expect(name, "logits", logits, Shape::new(shape.rows, shape.vocabulary), Dtype::F32)?;
        if let Some(state) = edits {
            self.agree(name, "edits", state.shape, Shape::new(state.shape.rows, 4))?;
        }
        let edits = edits.map(|state| self.state(state));
        let chunks = self.value(Shape::new(1, shape.chunk_elements()), Dtype::F32);
        let op = Op::LogSoftmaxTopK { shape, logits, edits, chunks };
        let value = self.push(op, Shape::new(shape.rows, 2 * shape.candidates))?;
        self.values[value.0].dtype = Dtype::U32;
        Ok(value)
    }

    /// See [`Op::SearchStep`].
    ///
    /// # Errors
    /// [`GraphError::Shape`]
    pub fn search_step(
        &mut self,
        shape: TopKShape,
        edits: HistoryEdits,
        x: Value,
        linear: Linear,
        states: &SearchStates,
    ) -> Result<(), GraphError> {
        let name = "search_step";
        let TopKShape { rows, vocabulary, candidates, .. } = shape;
        let search = edits.search;
        let made = self.linear_output(name, x, linear)?;
        self.agree(name, "linear", made, Shape::new(rows, vocabulary))?;
        let column = Shape::new(rows, 1);
        for (what, state, want) in [
            ("search", states.search, Shape::new(search.sentences, search.block())),
            ("tokens", states.tokens, column),
            ("positions", states.positions, column),
            ("key_counts", states.key_counts, column),
            ("cache_slots", states.cache_slots, column),
            ("slots", states.slots, Shape::new(rows, search.capacity)),
            ("slot_tokens", states.slot_tokens, Shape::new(rows * search.capacity, 1)),
            ("record", states.record, Shape::new(RING * rows, search.record_width())),
        ] {
            let value = self.state(state);
            self.expect(name, what, value, want, Dtype::U32)?;
        }
        self.fits(name, made)?;
        let logits = self.value(made, Dtype::F32);
        let chunks = self.value(Shape::new(1, shape.chunk_elements()), Dtype::F32);
        let top = self.value(Shape::new(rows, 2 * candidates), Dtype::U32);
        let words = if edits.repeats { ban_words(vocabulary) } else { 1 };
        let row_bans = self.value(Shape::new(rows, words), Dtype::U32);
        let state = states.map(|state| self.state(state));
        let op = Op::SearchStep { x, linear, shape, edits, logits, chunks, top, row_bans, state };
        self.nodes.push(Node { place: self.place.clone(), op, output: None });
        Ok(())
    }

    fn value(&mut self, shape: Shape, dtype: Dtype) -> Value {
        self.values.push(ValueInfo { shape, dtype, home: Home::Planned });
        Value(self.values.len() - 1)
    }

    fn push(&mut self, op: Op, shape: Shape) -> Result<Value, GraphError> {
        self.fits(op.name(), shape)?;
        let value = self.value(shape, Dtype::F32);
        self.nodes.push(Node { place: self.place.clone(), op, output: Some(value) });
        Ok(value)
    }

    fn fits(&self, op: &'static str, shape: Shape) -> Result<(), GraphError> {
        let Shape { rows, width } = shape;
        match shape.elements() >= MAX_ELEMENTS {
            true => Err(GraphError::TooLarge { op, place: self.place.clone(), rows, width }),
            false => Ok(()),
        }
    }

    fn expect(
        &self,
        op: &'static str,
        input: &'static str,
        value: Value,
        want: Shape,
        dtype: Dtype,
    ) -> Result<(), GraphError> {
        let info = self.values[value.0];
        if info.shape == want && info.dtype == dtype {
            return Ok(());
        }
        let got = format!("{:?} {}", info.dtype, info.shape);
        let want = format!("{dtype:?} {want}");
        Err(GraphError::Shape { op, place: self.place.clone(), input, got, want })
    }

    fn columns(
        &self,
        op: &'static str,
        input: &'static str,
        columns: Columns,
        rows: usize,
        width: usize,
    ) -> Result<(), GraphError> {
        let got = self.shape(columns.value);
        if got.rows == rows && columns.first + width <= got.width {
            return Ok(());
        }
        let want = format!("{rows} rows with columns {}..{}", columns.first, columns.first + width);
        Err(self.mismatch(op, input, got, want))
    }

    fn agree(
        &self,
        op: &'static str,
        input: &'static str,
        got: Shape,
        want: Shape,
    ) -> Result<(), GraphError> {
        if got == want { Ok(()) } else { Err(self.mismatch(op, input, got, want.to_string())) }
    }

    fn mismatch(&self, op: &'static str, input: &'static str, got: Shape, want: String) -> GraphError {
        GraphError::Shape { op, place: self.place.clone(), input, got: got.to_string(), want }
    }
}
