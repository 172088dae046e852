//! A layer as a graph, with its inputs, its weights and its arithmetic.

use wordloom::graph::{
    Columns, Graph, GraphError, Operator, Plan, Rows, State, StateTable, Value, WeightTable,
};
use wordloom::ops::{Activation, AttentionScores, AttentionShape, Linear, ScoreFunction};

/// Tokens of a sequence, and the width of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub length: usize,
    pub width: usize,
}

/// Width of a head, as in the paper.
const HEAD: usize = 64;

/// Adds operators and counts their multiplications.
pub struct Builder {
    pub size: Size,
    pub graph: Graph,
    states: StateTable,
    weights: WeightTable,
    /// States that are filled with numbers.
    inputs: Vec<State>,
    /// States of integers, and their content.
    words: Vec<(State, Vec<u32>)>,
    multiplications: u128,
}

/// A layer that is ready to be planned on a device.
pub struct Layer {
    pub plan: Plan,
    pub states: StateTable,
    pub weights: WeightTable,
    pub inputs: Vec<State>,
    pub words: Vec<(State, Vec<u32>)>,
    pub result: State,
    pub multiplications: u128,
}

impl Builder {
    pub fn new(size: Size) -> Self {
        Self {
            size,
            graph: Graph::new("layer"),
            states: StateTable::default(),
            weights: WeightTable::default(),
            inputs: Vec::new(),
            words: Vec::new(),
            multiplications: 0,
        }
    }

    /// An input `[rows, width]`.
    pub fn input(&mut self, name: &str, rows: usize, width: usize) -> Value {
        let state = self.states.f32(name, rows, width);
        self.inputs.push(state);
        self.graph.state(state)
    }

    /// Queries, keys and values as columns of an input.
    pub fn qkv(&mut self) -> [Columns; 3] {
        let Size { length, width } = self.size;
        let value = self.input("qkv", length, 3 * width);
        [0, width, 2 * width].map(|first| Columns { value, first })
    }

    /// A state of zeros.
    pub fn zeros(&mut self, name: &str, rows: usize, width: usize) -> Value {
        let state = self.states.f32(name, rows, width);
        self.graph.state(state)
    }

    /// A mask `[1, length]` that hides no token.
    pub fn mask(&mut self) -> Value {
        self.words("mask", 1, vec![1; self.size.length])
    }

    /// Integers `[rows, …]`.
    pub fn words(&mut self, name: &str, rows: usize, words: Vec<u32>) -> Value {
        let state = self.states.u32(name, rows, words.len() / rows);
        self.words.push((state, words));
        self.graph.state(state)
    }

    pub fn linear(&mut self, name: &str, x: Value, outputs: usize) -> Result<Value, GraphError> {
        let shape = self.graph.shape(x);
        let linear = self.weight(name, outputs, shape.width);
        self.apply(x, linear)
    }

    /// A linear layer that [`Self::apply`] uses, perhaps several times.
    pub fn weight(&mut self, name: &str, outputs: usize, inputs: usize) -> Linear {
        Linear { weight: self.weights.matrix(name, outputs, inputs), bias: None, scale: 1.0 }
    }

    pub fn apply(&mut self, x: Value, linear: Linear) -> Result<Value, GraphError> {
        let rows = self.graph.shape(x).rows as u128;
        self.count(rows * linear.weight.outputs as u128 * linear.weight.inputs as u128);
        self.graph.linear(x, linear, Activation::Identity, None)
    }

    /// Weights that an operator reads by row.
    pub fn rows(&mut self, name: &str, rows: usize, width: usize) -> Rows {
        self.weights.rows(name, rows, width)
    }

    /// Softmax attention of every token to every token, heads of [`HEAD`].
    pub fn attention(&mut self, qkv: Value) -> Result<Value, GraphError> {
        let width = self.size.width;
        let columns = [0, width, 2 * width].map(|first| Columns { value: qkv, first });
        self.attend(ScoreFunction::Product, columns, self.size.length)
    }

    /// Attention of every token to `keys` keys.
    pub fn attend(
        &mut self,
        function: ScoreFunction,
        columns: [Columns; 3],
        keys: usize,
    ) -> Result<Value, GraphError> {
        let shape = self.shape(keys);
        let key_mask = self.words("keys", 1, vec![1; keys]);
        let [queries, keys, values] = columns;
        self.count(2 * (shape.queries * shape.keys) as u128 * self.size.width as u128);
        let scores = AttentionScores { shape, queries, keys, key_mask, distance_bias: None };
        self.graph.attention_by(function, scores, values)
    }

    /// Attention of `count` queries to all tokens.
    pub fn attend_from(&mut self, count: usize, columns: [Columns; 3]) -> Result<Value, GraphError> {
        let shape = AttentionShape { queries: count, ..self.shape(self.size.length) };
        let key_mask = self.mask();
        let [queries, keys, values] = columns;
        self.count(2 * (count * shape.keys) as u128 * self.size.width as u128);
        self.graph.attention(AttentionScores { shape, queries, keys, key_mask, distance_bias: None }, values)
    }

    /// The shape of an attention of every token to `keys` keys.
    pub fn shape(&self, keys: usize) -> AttentionShape {
        let Size { length, width } = self.size;
        let heads = (width / HEAD).max(1);
        let head = width / heads;
        let scale = 1.0 / (head as f32).sqrt();
        AttentionShape {
            batch: 1,
            heads,
            queries: length,
            keys,
            d_head: head,
            d_value: head,
            scale,
            causal: false,
        }
    }

    /// Appends an operator of the bench's own.
    pub fn push(&mut self, operator: impl Operator + 'static, multiplications: u128) {
        self.count(multiplications);
        self.graph.push(operator);
    }

    /// Counts the multiplications of an operator that was added to the graph.
    pub fn count(&mut self, multiplications: u128) {
        self.multiplications += multiplications;
    }

    pub fn finish(mut self, y: Value) -> Result<Layer, GraphError> {
        let shape = self.graph.shape(y);
        let result = self.states.f32("result", shape.rows, shape.width);
        self.graph.keep(y, result)?;
        Ok(Layer {
            plan: Plan::new(self.graph),
            states: self.states,
            weights: self.weights,
            inputs: self.inputs,
            words: self.words,
            result,
            multiplications: self.multiplications,
        })
    }
}
