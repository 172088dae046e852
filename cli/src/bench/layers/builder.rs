//! A layer as a graph, with its inputs, its weights and its arithmetic.

use wordloom::graph::{
    Columns, Graph, GraphError, Operator, Plan, Rows, State, StateTable, Value, WeightTable,
};
use wordloom::ops::{Activation, AttentionScores, AttentionShape, Linear};

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
    /// States that are filled with ones.
    masks: Vec<State>,
    multiplications: u128,
}

/// A layer that is ready to be planned on a device.
pub struct Layer {
    pub plan: Plan,
    pub states: StateTable,
    pub weights: WeightTable,
    pub inputs: Vec<State>,
    pub masks: Vec<State>,
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
            masks: Vec::new(),
            multiplications: 0,
        }
    }

    /// An input `[rows, width]`.
    pub fn input(&mut self, name: &str, rows: usize, width: usize) -> Value {
        let state = self.states.f32(name, rows, width);
        self.inputs.push(state);
        self.graph.state(state)
    }

    /// A state of zeros.
    pub fn zeros(&mut self, name: &str, rows: usize, width: usize) -> Value {
        let state = self.states.f32(name, rows, width);
        self.graph.state(state)
    }

    /// A mask `[1, length]` that hides no token.
    pub fn mask(&mut self) -> Value {
        let mask = self.states.u32("mask", 1, self.size.length);
        self.masks.push(mask);
        self.graph.state(mask)
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
        let Size { length, width } = self.size;
        let heads = (width / HEAD).max(1);
        let head = width / heads;
        let shape = AttentionShape {
            batch: 1,
            heads,
            queries: length,
            keys: length,
            d_head: head,
            d_value: head,
            scale: 1.0 / (head as f32).sqrt(),
            causal: false,
        };
        let key_mask = self.mask();
        let columns = |first| Columns { value: qkv, first };
        let [queries, keys, values] = [0, width, 2 * width].map(columns);
        self.count(2 * (length as u128).pow(2) * (heads * head) as u128);
        self.graph.attention(AttentionScores { shape, queries, keys, key_mask, distance_bias: None }, values)
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
            masks: self.masks,
            result,
            multiplications: self.multiplications,
        })
    }
}
