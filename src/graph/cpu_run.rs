//! Access of operators to the values of a plan that runs on the CPU.

use super::buffers::Buffers;
use super::values::{Columns, Home, Value, ValueInfo};
use super::weights::{Matrix, Rows, Vector, Weights};
use crate::cpu::{self, Memory, WeightMatrix};
use crate::precision::Products;
use crate::shape::Shape;

/// Inputs and outputs of an operator that runs on the CPU.
pub struct CpuRun<'a> {
    pub(super) values: &'a [ValueInfo],
    pub(super) buffers: &'a Buffers,
    pub(super) states: &'a mut [Memory<u32>],
    pub(super) shared: &'a mut [Memory<u32>],
    pub(super) weights: HostWeights<'a>,
    pub(super) products: Products,
}

/// The weights of a run.
pub(super) enum HostWeights<'a> {
    Fixed(&'a Weights),
    Trained(&'a mut Weights),
}

impl HostWeights<'_> {
    fn get(&self) -> &Weights {
        match self {
            Self::Fixed(weights) => weights,
            Self::Trained(weights) => weights,
        }
    }
}

enum Place {
    State(usize),
    Shared(usize),
}

impl<'a> CpuRun<'a> {
    /// The shape of a value.
    pub fn shape(&self, value: Value) -> Shape {
        self.values[value.0].shape
    }

    /// The elements of a u32 value, or the bits of an f32 value.
    pub fn u32(&self, value: Value) -> &[u32] {
        let words = match self.place(value) {
            Place::State(index) => &self.states[index],
            Place::Shared(index) => &self.shared[index],
        };
        &words[..self.shape(value).elements()]
    }

    /// The elements of an f32 value.
    pub fn f32(&self, value: Value) -> &[f32] {
        bytemuck::cast_slice(self.u32(value))
    }

    /// The columns of an f32 value.
    pub fn columns(&self, columns: Columns) -> cpu::Columns<'_> {
        let stride = self.shape(columns.value).width;
        cpu::Columns { data: self.f32(columns.value), stride, first: columns.first }
    }

    /// The matrix in the weights.
    pub fn matrix(&self, matrix: Matrix) -> WeightMatrix<'_> {
        self.weights.get().cpu_matrix(matrix.index)
    }

    /// The vector in the weights.
    pub fn vector(&self, vector: Vector) -> &[f32] {
        self.weights.get().cpu(vector.index)
    }

    /// The table of rows in the weights.
    pub fn rows(&self, rows: Rows) -> &[f32] {
        &self.weights.get().cpu(rows.index)[..rows.rows * rows.width]
    }

    /// The matrix in the weights, in f32: training stores no other precision.
    pub fn f32_matrix(&self, matrix: Matrix) -> &[f32] {
        self.weights.get().cpu(matrix.index)
    }

    /// How matrices are multiplied.
    pub fn products(&self) -> Products {
        self.products
    }

    /// Calls `update` with a weight to change, row-major.
    pub(crate) fn update_weight(&mut self, index: usize, update: impl FnOnce(&mut Self, &mut [f32])) {
        let HostWeights::Trained(weights) = &mut self.weights else {
            unreachable!("only a training run changes weights")
        };
        let mut taken = std::mem::take(weights.cpu_mut(index));
        update(self, &mut taken);
        if let HostWeights::Trained(weights) = &mut self.weights {
            *weights.cpu_mut(index) = taken;
        }
    }

    /// Calls `compute` with f32 outputs to write and inputs to read.
    pub fn write<const N: usize>(
        &mut self,
        values: [Value; N],
        compute: impl FnOnce(&Self, [&mut [f32]; N]),
    ) {
        self.write_words(values, |run, words| compute(run, words.map(bytemuck::cast_slice_mut)));
    }

    /// As `write`, for values of either type, as words.
    pub fn write_words<const N: usize>(
        &mut self,
        values: [Value; N],
        compute: impl FnOnce(&Self, [&mut [u32]; N]),
    ) {
        // a buffer is taken out while it is written; a plan never uses one buffer for an input and an output of a node
        let mut taken = values.map(|value| std::mem::take(self.words_mut(value)));
        let mut outputs = taken.iter_mut().zip(values);
        let outputs = std::array::from_fn(|_| match outputs.next() {
            Some((words, value)) => &mut words[..self.shape(value).elements()],
            None => unreachable!("as many as there are values"),
        });
        compute(self, outputs);
        for (value, words) in values.into_iter().zip(taken) {
            *self.words_mut(value) = words;
        }
    }

    fn place(&self, value: Value) -> Place {
        match (self.values[value.0].home, self.buffers.of_value[value.0]) {
            (Home::State(state), _) => Place::State(state.index),
            (Home::Planned, Some(buffer)) => Place::Shared(buffer),
            (Home::Planned, None) => unreachable!("an operator names every value that it touches"),
        }
    }

    fn words_mut(&mut self, value: Value) -> &mut Memory<u32> {
        match self.place(value) {
            Place::State(index) => &mut self.states[index],
            Place::Shared(index) => &mut self.shared[index],
        }
    }
}
