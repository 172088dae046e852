//! Runs plans on a GPU: states, shared buffers, and a recording of each plan's launches.

use std::collections::VecDeque;
use std::sync::Arc;

use super::lower::{Binding, LaunchList, Target};
use super::plan::Plan;
use super::row_copy::RowCopy;
use super::values::{Home, State, StateTable, stored_elements};
use super::weights::{Weights, pad_rows};
use crate::gpu::{Buffer, BufferCopy, Gpu, GpuError, Readback, Reading, Recording, Submission};
use crate::kernels::{AdapterClass, PassedOver, stride};
use crate::shape::{Dtype, Shape};

pub(super) struct GpuSession {
    gpu: Arc<Gpu>,
    states: Vec<Buffer>,
    /// Readbacks of states, made at the first read.
    readbacks: Vec<Option<Readback>>,
    programs: Vec<Recording>,
    /// Submits that are not waited for, with the destinations of their results.
    waiting: VecDeque<(Submission, Readback)>,
    spare: Vec<Readback>,
}

/// Plans, and the choice of their kernels.
struct Programs<'a> {
    plans: &'a [Plan],
    class: AdapterClass,
    passed_over: Arc<PassedOver>,
    /// Whether wrong kernels are refused.
    refuses: bool,
}

/// Results in flight: one that the host waits for, and one that the device computes meanwhile.
const READBACKS: usize = 2;

impl GpuSession {
    pub fn new(
        gpu: Arc<Gpu>,
        weights: &Weights,
        states: &StateTable,
        plans: &[Plan],
    ) -> Result<Self, GpuError> {
        let (class, passed_over) = (gpu.class(), gpu.passed_over());
        let programs = Programs { plans, class, passed_over, refuses: true };
        Self::with(gpu, weights, states, &programs).map(|(session, _)| session)
    }

    /// A session of a class's kernels, also of those that are passed over: for a check of them. Also returns the launches.
    pub fn to_check(
        gpu: Arc<Gpu>,
        weights: &Weights,
        states: &StateTable,
        plans: &[Plan],
        class: AdapterClass,
    ) -> Result<(Self, Vec<LaunchList>), GpuError> {
        Self::with(
            gpu,
            weights,
            states,
            &Programs { plans, class, passed_over: Arc::default(), refuses: false },
        )
    }

    fn with(
        gpu: Arc<Gpu>,
        weights: &Weights,
        states: &StateTable,
        programs: &Programs<'_>,
    ) -> Result<(Self, Vec<LaunchList>), GpuError> {
        let states = states
            .entries
            .iter()
            .map(|(name, state)| gpu.buffer(name, stored_elements(state.shape, state.dtype)))
            .collect::<Result<Vec<_>, _>>()?;
        // bound in place of absent optional inputs; never read
        let nothing = gpu.buffer("nothing", 4)?;
        let &Programs { plans, class, ref passed_over, refuses } = programs;
        let passed_over = passed_over.clone();
        let target = Target {
            class,
            precision: weights.precision(),
            passed_over,
            matrix_units: gpu.has_matrix_units(),
            parts: weights.parts(),
        };
        let lists: Vec<LaunchList> = plans.iter().map(|plan| plan.lower(&target)).collect();
        #[cfg(not(target_arch = "wasm32"))]
        {
            let launches = lists.iter().flat_map(|list| &list.launches).map(|launch| &launch.dispatch);
            let wrong = gpu.passed_over();
            gpu.compile(launches.filter(|launch| !(refuses && wrong.is_wrong(launch.kernel))));
        }
        let programs = lists
            .iter()
            .map(|list| record(&gpu, weights, &states, &nothing, list, refuses))
            .collect::<Result<Vec<_>, _>>()?;
        let readbacks = states.iter().map(|_| None).collect();
        Ok((Self { gpu, states, readbacks, programs, waiting: VecDeque::new(), spare: Vec::new() }, lists))
    }

    pub fn write(&self, state: State, start: usize, data: &[u32]) {
        assert_eq!(state.dtype, Dtype::U32, "only u32 states are written by the host");
        self.gpu.write(&self.states[state.index], start, data);
    }

    pub fn write_f32(&self, state: State, data: &[f32]) {
        self.gpu.write(&self.states[state.index], 0, &pad_rows(data, state.shape.width));
    }

    pub fn copy_rows(&self, copies: &[RowCopy]) {
        self.take_rows(self, copies);
    }

    pub fn take_rows(&self, other: &Self, copies: &[RowCopy]) {
        self.gpu.copy(copies.iter().map(|&RowCopy { from, first, to, at, rows }| {
            let row = stored_elements(Shape::new(1, from.shape.width), from.dtype);
            BufferCopy {
                from: &other.states[from.index],
                first: first * row,
                to: &self.states[to.index],
                at: at * row,
                elements: rows * row,
            }
        }));
    }

    pub fn run(&self, program: usize) {
        self.gpu.submit(&self.programs[program], 1, &[]);
    }

    pub fn run_in_turn(&self, programs: impl Iterator<Item = usize>) {
        self.gpu.submit_in_turn(programs.map(|program| &self.programs[program]));
    }

    /// Submits a program `times` times, and a copy of `state` for [`wait`](Self::wait). At most [`READBACKS`] can be
    /// pending.
    pub fn submit(&mut self, program: usize, times: usize, state: State) -> Result<(), GpuError> {
        let buffer = &self.states[state.index];
        if self.waiting.is_empty() && self.spare.is_empty() {
            for _ in 0..READBACKS {
                self.spare.push(self.gpu.readback("record", buffer)?);
            }
        }
        let readback = self.spare.pop().expect("no more submits on their way than read-backs");
        let submission = self.gpu.submit(&self.programs[program], times, &[(buffer, &readback)]);
        self.waiting.push_back((submission, readback));
        Ok(())
    }

    pub fn forget(&mut self) {
        self.spare.extend(self.waiting.drain(..).map(|(_, readback)| readback));
    }

    /// Waits for the oldest submit only; calls `use_words` with its state.
    pub async fn wait<R>(&mut self, use_words: impl FnOnce(&[u32]) -> R) -> Result<Option<R>, GpuError> {
        let Some((submission, readback)) = self.waiting.pop_front() else { return Ok(None) };
        let result = self.gpu.map(&readback, Some(submission), use_words).await;
        self.spare.push(readback);
        result.map(Some)
    }

    pub async fn run_and_read<R>(
        &mut self,
        program: usize,
        state: State,
        use_elements: impl FnOnce(&[u32]) -> R,
    ) -> Result<R, GpuError> {
        let buffer = &self.states[state.index];
        let readback = match &mut self.readbacks[state.index] {
            Some(readback) => readback,
            none => none.insert(self.gpu.readback("read-back", buffer)?),
        };
        let submission = self.gpu.submit(&self.programs[program], 1, &[(buffer, readback)]);
        let elements = state.shape.elements();
        self.gpu.map(readback, Some(submission), |words| use_elements(&words[..elements])).await
    }

    pub fn keep(&self, state: State) -> (Arc<Gpu>, Buffer) {
        (self.gpu.clone(), self.states[state.index].clone())
    }

    pub fn start_reading(&self, state: State) -> Result<GpuReading, GpuError> {
        let buffer = &self.states[state.index];
        let copy = self.gpu.start_reading(buffer, 0..(buffer.bytes() / 4) as usize)?;
        Ok(GpuReading { gpu: self.gpu.clone(), state, copy })
    }
}

/// A state that the host has asked for.
pub(super) struct GpuReading {
    gpu: Arc<Gpu>,
    state: State,
    copy: Reading,
}

impl GpuReading {
    pub async fn finish(self) -> Result<Vec<f32>, GpuError> {
        let Self { gpu, state, copy } = self;
        let Shape { rows, width } = state.shape;
        let mut stored: Vec<f32> = gpu.finish_reading(copy).await?;
        // only f32 rows are padded
        let padded = if state.dtype == Dtype::F32 { stride(width) } else { width };
        for row in 1..rows {
            stored.copy_within(row * padded..row * padded + width, row * width);
        }
        stored.truncate(rows * width);
        Ok(stored)
    }
}

/// Resolves the bindings of a list to buffers, and records its launches.
fn record(
    gpu: &Gpu,
    weights: &Weights,
    states: &[Buffer],
    nothing: &Buffer,
    list: &LaunchList,
    refuses: bool,
) -> Result<Recording, GpuError> {
    let shared = (list.buffers.elements.iter().enumerate())
        .map(|(index, &elements)| gpu.buffer(&format!("{}: buffer {index}", list.label), elements))
        .collect::<Result<Vec<_>, _>>()?;
    let buffer = |binding: &Binding| match *binding {
        Binding::Weight { index, part } => &weights.gpu_parts(index)[part].buffer,
        Binding::Nothing => nothing,
        Binding::Value(value) => match (list.values[value.0].home, list.buffers.of_value[value.0]) {
            (Home::State(state), _) => &states[state.index],
            (Home::Planned, Some(buffer)) => &shared[buffer],
            (Home::Planned, None) => unreachable!("every value that a launch binds has a buffer"),
        },
    };
    let launches: Vec<_> = (list.launches.iter())
        .map(|launch| (launch.dispatch.clone(), launch.bindings.iter().map(buffer).collect()))
        .collect();
    match refuses {
        true => gpu.record(&list.label, &launches),
        false => gpu.record_any(&list.label, &launches),
    }
}
