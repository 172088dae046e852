//! Cases: small graphs with inputs, whose results a device must share with the CPU runner.

use std::ops::Range;

use crate::gpu::GpuError;
use crate::graph::{Graph, GraphError, Matrix, Plan, Rows, State, StateTable, Value, Vector, WeightKind};
use crate::graph::{UnstorableWeight, WeightSource, WeightTable};
use crate::precision::WeightPrecision;
use crate::shape::Shape;

/// Cases that share states, weights and a session.
#[derive(Default)]
pub(super) struct Cases {
    pub states: StateTable,
    pub weights: WeightTable,
    pub inputs: Vec<(State, Input)>,
    pub list: Vec<Case>,
    /// Whether the weights are stored as those of a training.
    pub trains: bool,
}

/// Content of a state before a run.
pub(super) enum Input {
    F32(Vec<f32>),
    U32(Vec<u32>),
}

pub(super) struct Case {
    /// Shape and switches, for reports.
    pub what: String,
    pub plan: Plan,
    pub results: Vec<(State, Compared)>,
    /// Whether a quick check has it.
    pub is_quick: bool,
    /// Whether it is of a size that real models have, so that its time counts.
    pub is_timed: bool,
}

/// How a result is compared.
#[derive(Clone, Copy, Debug)]
pub(super) enum Compared {
    /// `|got - want| <= absolute + relative * |want|`
    Numbers(f32, f32),
    /// `|got - want| <= absolute + relative * |want|`, of a matrix with so many inputs, which a GPU keeps in panels.
    Panels { inputs: usize, absolute: f32, relative: f32 },
    /// A selection, `[rows, 2 * candidates + others]`: values, tokens, which must be equal, and other numbers.
    Best { candidates: usize, others: usize },
}

impl Cases {
    /// An input of random numbers in -1 … 1.
    pub fn random(&mut self, rows: usize, width: usize) -> State {
        let seed = self.inputs.len() as u32 + 1;
        self.f32(rows, width, random(seed, rows * width))
    }

    /// An input.
    pub fn f32(&mut self, rows: usize, width: usize, data: Vec<f32>) -> State {
        assert_eq!(data.len(), rows * width, "an input of {rows} rows of {width}");
        let state = self.states.f32("input", rows, width);
        self.inputs.push((state, Input::F32(data)));
        state
    }

    /// An input.
    pub fn u32(&mut self, rows: usize, width: usize, data: Vec<u32>) -> State {
        assert_eq!(data.len(), rows * width, "an input of {rows} rows of {width}");
        let state = self.states.u32("input", rows, width);
        self.inputs.push((state, Input::U32(data)));
        state
    }

    pub fn matrix(&mut self, outputs: usize, inputs: usize) -> Matrix {
        self.weights.matrix("matrix", outputs, inputs)
    }

    pub fn vector(&mut self, length: usize) -> Vector {
        self.weights.vector("vector", length)
    }

    pub fn rows(&mut self, rows: usize, width: usize) -> Rows {
        self.weights.rows("rows", rows, width)
    }

    /// Adds a case whose result is the value that `build` returns.
    pub fn add(
        &mut self,
        what: String,
        compared: Compared,
        build: impl FnOnce(&mut Graph) -> Result<Value, GraphError>,
    ) -> &mut Case {
        let mut graph = Graph::new(what.clone());
        let built = build(&mut graph).and_then(|value| {
            let Shape { rows, width } = graph.shape(value);
            let state = match compared {
                Compared::Numbers(..) | Compared::Panels { .. } => self.states.f32("result", rows, width),
                Compared::Best { .. } => self.states.u32("result", rows, width),
            };
            graph.keep(value, state)?;
            Ok(vec![(state, compared)])
        });
        self.push(what, graph, built)
    }

    /// Adds a case whose results are states that the graph changes.
    pub fn add_in_place(
        &mut self,
        what: String,
        results: Vec<(State, Compared)>,
        build: impl FnOnce(&mut Graph) -> Result<(), GraphError>,
    ) -> &mut Case {
        let mut graph = Graph::new(what.clone());
        let built = build(&mut graph).map(|()| results);
        self.push(what, graph, built)
    }

    fn push(
        &mut self,
        what: String,
        graph: Graph,
        built: Result<Vec<(State, Compared)>, GraphError>,
    ) -> &mut Case {
        let results = built.unwrap_or_else(|error| unreachable!("{what}: {error}"));
        let case = Case { what, plan: Plan::new(graph), results, is_quick: false, is_timed: false };
        self.list.push(case);
        self.list.last_mut().unwrap_or_else(|| unreachable!("it was added"))
    }
}

impl Case {
    pub fn quick(&mut self, is_quick: bool) -> &mut Self {
        self.is_quick |= is_quick;
        self
    }

    pub fn timed(&mut self) {
        self.is_timed = true;
    }

    /// Also compares a state that the graph changes.
    pub fn also(&mut self, state: State, compared: Compared) -> &mut Self {
        self.results.push((state, compared));
        self
    }
}

/// Seeded numbers in -1 … 1.
pub fn random(seed: u32, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12_345);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as f32 / u32::MAX as f32 * 2.0 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// Random weights, rounded to a precision, so that storing them in it changes nothing.
pub(super) struct RandomWeights<'a> {
    pub table: &'a WeightTable,
    pub precision: WeightPrecision,
}

/// The error of a source that has none of its own.
#[derive(Debug)]
pub(super) enum NoError {
    Gpu(GpuError),
    Unstorable(UnstorableWeight),
}

impl From<GpuError> for NoError {
    fn from(error: GpuError) -> Self {
        Self::Gpu(error)
    }
}

impl From<UnstorableWeight> for NoError {
    fn from(error: UnstorableWeight) -> Self {
        Self::Unstorable(error)
    }
}

impl NoError {
    pub fn of_gpu(self) -> GpuError {
        match self {
            Self::Gpu(error) => error,
            Self::Unstorable(error) => unreachable!("numbers of at most 1: {error}"),
        }
    }
}

impl WeightSource for RandomWeights<'_> {
    type Error = NoError;

    fn read_rows(&mut self, index: usize, rows: Range<usize>, out: &mut [f32]) -> Result<(), NoError> {
        let entry = &self.table.entries()[index];
        let mut all = random(index as u32 + 1, entry.rows * entry.width);
        if entry.kind == WeightKind::Matrix {
            all.chunks_exact_mut(entry.width).for_each(|row| self.precision.round_row(row));
        }
        out.copy_from_slice(&all[rows.start * entry.width..rows.end * entry.width]);
        Ok(())
    }
}
