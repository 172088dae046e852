//! Runs plans on the CPU: states and shared buffers in host memory, one call per node.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::cpu_run::{CpuRun, HostWeights};
use super::plan::Plan;
use super::row_copy::RowCopy;
use super::values::{State, StateTable};
use super::weights::Weights;
use crate::cpu::{self, Memory};
use crate::gpu::GpuError;
use crate::precision::Products;
use crate::shape::Dtype;

/// The time since the last report of progress: reports come every 50 ms.
struct Clock {
    #[cfg(not(target_arch = "wasm32"))]
    started: std::time::Instant,
}

impl Clock {
    fn start() -> Self {
        Self {
            #[cfg(not(target_arch = "wasm32"))]
            started: std::time::Instant::now(),
        }
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn is_over(&self) -> bool {
        self.started.elapsed().as_millis() >= 50
    }

    /// A browser's worker has no clock here. Its event loop decides itself how often it takes a turn.
    #[cfg(target_arch = "wasm32")]
    fn is_over(&self) -> bool {
        true
    }
}

/// Memory of a state or a temporary value, in words of 32 bits: f32 values as bits, so that either type fits.
fn zeros(words: usize) -> Result<Memory<u32>, GpuError> {
    Memory::zeros(words).ok_or(GpuError::HostMemory { bytes: words as u64 * 4 })
}

pub(super) struct CpuSession {
    states: Vec<Memory<u32>>,
    plans: Vec<Plan>,
    /// Buffers of every plan's temporary values: plans run in turn.
    shared: Vec<Memory<u32>>,
}

impl CpuSession {
    pub fn new(states: &StateTable, plans: Vec<Plan>) -> Result<Self, GpuError> {
        let states = states.entries.iter().map(|(_, state)| zeros(state.shape.elements()));
        let states = states.collect::<Result<_, _>>()?;
        let mut session = Self { states, plans: Vec::with_capacity(plans.len()), shared: Vec::new() };
        for plan in plans {
            session.add(plan)?;
        }
        Ok(session)
    }

    /// Adds a program, and returns its index.
    pub fn add(&mut self, plan: Plan) -> Result<usize, GpuError> {
        let elements = &plan.buffers.elements;
        if self.shared.len() < elements.len() {
            self.shared.resize_with(elements.len(), Memory::default);
        }
        for (buffer, &elements) in self.shared.iter_mut().zip(elements) {
            if buffer.len() < elements {
                *buffer = zeros(elements)?;
            }
        }
        self.plans.push(plan);
        Ok(self.plans.len() - 1)
    }

    pub fn write(&mut self, state: State, start: usize, data: &[u32]) {
        assert_eq!(state.dtype, Dtype::U32, "only u32 states are written by the host");
        self.states[state.index][start..][..data.len()].copy_from_slice(data);
    }

    pub fn write_f32(&mut self, state: State, data: &[f32]) {
        assert_eq!(state.dtype, Dtype::F32, "an f32 state");
        self.states[state.index][..data.len()].copy_from_slice(bytemuck::cast_slice(data));
    }

    pub fn copy_rows(&mut self, copies: &[RowCopy]) {
        for &RowCopy { from, first, to, at, rows } in copies {
            let width = from.shape.width;
            let [source, target] = match self.states.get_disjoint_mut([from.index, to.index]) {
                Ok(states) => states,
                Err(_) => unreachable!("two states"),
            };
            target[at * width..][..rows * width].copy_from_slice(&source[first * width..][..rows * width]);
        }
    }

    pub fn take_rows(&mut self, other: &Self, copies: &[RowCopy]) {
        for &RowCopy { from, first, to, at, rows } in copies {
            let width = from.shape.width;
            let source = &other.states[from.index][first * width..][..rows * width];
            self.states[to.index][at * width..][..rows * width].copy_from_slice(source);
        }
    }

    pub fn u32_state(&self, state: State) -> &[u32] {
        &self.states[state.index]
    }

    pub fn f32_state(&self, state: State) -> &[f32] {
        bytemuck::cast_slice(&self.states[state.index])
    }

    pub fn run(&mut self, program: usize, weights: &Weights) {
        self.run_with(program, HostWeights::Fixed(weights));
    }

    /// Runs nodes from `first` on until a moment has passed or `stop` is set. Returns the next node; `None` at the end.
    pub fn run_part(
        &mut self,
        program: usize,
        weights: &Weights,
        first: usize,
        stop: &Arc<AtomicBool>,
    ) -> Option<usize> {
        let Self { states, plans, shared } = self;
        let Plan { graph, buffers } = &plans[program];
        let weights = HostWeights::Fixed(weights);
        let mut run =
            CpuRun { values: &graph.values, buffers, states, shared, weights, products: Products::F32 };
        let mut next = first;
        cpu::among_the_cores(|| {
            cpu::unless_stopped(stop, || {
                let clock = Clock::start();
                while next < graph.nodes.len() && !stop.load(Ordering::Relaxed) {
                    graph.nodes[next].op.run(&mut run);
                    next += 1;
                    if clock.is_over() {
                        break;
                    }
                }
            });
        });
        (next < graph.nodes.len()).then_some(next)
    }

    /// Number of nodes of a program.
    pub fn nodes(&self, program: usize) -> usize {
        self.plans[program].graph.nodes.len()
    }

    pub fn train(&mut self, program: usize, weights: &mut Weights) {
        self.run_with(program, HostWeights::Trained(weights));
    }

    fn run_with(&mut self, program: usize, weights: HostWeights<'_>) {
        let Self { states, plans, shared } = self;
        let Plan { graph, buffers } = &plans[program];
        let products = graph.training.as_ref().map_or(Products::F32, |training| training.settings.products);
        let mut run = CpuRun { values: &graph.values, buffers, states, shared, weights, products };
        cpu::among_the_cores(|| graph.nodes.iter().for_each(|node| node.op.run(&mut run)));
    }
}
