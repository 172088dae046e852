//! Running plans: states and programs on a GPU or on the CPU.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::lower::LaunchList;
use super::plan::Plan;
use super::row_copy::RowCopy;
use super::run_cpu::CpuSession;
use super::run_gpu::{GpuReading, GpuSession};
use super::values::{State, StateTable};
use super::weights::Weights;
use crate::device::Device;
use crate::gpu::{Buffer, Gpu, GpuError};
use crate::kernels::{AdapterClass, stride};
use crate::shape::Shape;

/// A plan in a session, ready to be replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program(usize);

/// States on a device, and the programs that use them. The constructor allocates everything; a run allocates nothing.
pub struct Session {
    runner: Runner,
}

enum Runner {
    Cpu(CpuSession),
    Gpu(GpuSession),
}

/// A state on its device, which outlives its session.
#[derive(Clone)]
pub struct DeviceTensor {
    shape: Shape,
    home: TensorHome,
}

#[derive(Clone)]
enum TensorHome {
    Host(Arc<Vec<f32>>),
    Gpu(Arc<Gpu>, Buffer),
}

impl DeviceTensor {
    /// `[rows, width]`
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The device, and the buffer with the stride of activations; `None` on the CPU.
    pub fn on_gpu(&self) -> Option<(&Arc<Gpu>, &Buffer)> {
        match &self.home {
            TensorHome::Host(_) => None,
            TensorHome::Gpu(gpu, buffer) => Some((gpu, buffer)),
        }
    }

    /// Reads rows without padding. Also returns errors of earlier commands; panics if `rows` is out of range.
    pub async fn read_rows(&self, rows: Range<usize>) -> Result<Vec<f32>, GpuError> {
        let Shape { rows: count, width } = self.shape;
        assert!(rows.start <= rows.end && rows.end <= count, "{rows:?} of {count} rows");
        match &self.home {
            TensorHome::Host(values) => Ok(values[rows.start * width..rows.end * width].to_vec()),
            TensorHome::Gpu(gpu, buffer) => {
                let padded = stride(width);
                let stored: Vec<f32> = gpu.read_part(buffer, rows.start * padded..rows.end * padded).await?;
                Ok(stored.chunks_exact(padded).flat_map(|row| &row[..width]).copied().collect())
            }
        }
    }
}

impl Session {
    /// Allocates the states and prepares the plans; [`Session::program`] takes their index.
    pub fn new(
        device: &Device,
        weights: &Weights,
        states: &StateTable,
        plans: Vec<Plan>,
    ) -> Result<Self, GpuError> {
        let runner = match device {
            Device::Cpu => Runner::Cpu(CpuSession::new(states, plans)?),
            Device::Gpu(gpu) => Runner::Gpu(GpuSession::new(gpu.clone(), weights, states, &plans)?),
        };
        Ok(Self { runner })
    }

    /// As [`new`](Self::new) on a GPU, with the kernels of a class, also those that are passed over: for a check of them. Also
    /// returns the launches of each plan.
    pub fn to_check(
        gpu: &Arc<Gpu>,
        weights: &Weights,
        states: &StateTable,
        plans: &[Plan],
        class: AdapterClass,
    ) -> Result<(Self, Vec<LaunchList>), GpuError> {
        let (session, lists) = GpuSession::to_check(gpu.clone(), weights, states, plans, class)?;
        Ok((Self { runner: Runner::Gpu(session) }, lists))
    }

    /// The program made from the plan at `index`.
    pub fn program(&self, index: usize) -> Program {
        Program(index)
    }

    /// Adds a program to a session on the CPU, where it costs no more than its plan and its temporary values.
    ///
    /// # Panics
    /// On a GPU, where pipelines would be compiled in the middle of a run.
    pub fn add(&mut self, plan: Plan) -> Result<Program, GpuError> {
        match &mut self.runner {
            Runner::Cpu(session) => session.add(plan).map(Program),
            Runner::Gpu(_) => unreachable!("all programs are known before"),
        }
    }

    /// Writes the first elements of a u32 state. Panics if `data` is longer than the state.
    pub fn write(&mut self, state: State, data: &[u32]) {
        self.write_rows(state, 0, data);
    }

    /// Writes rows of a u32 state from `first` on. Panics if `data` is longer than the rest of the state.
    pub fn write_rows(&mut self, state: State, first: usize, data: &[u32]) {
        self.write_elements(state, first * state.shape.width, data);
    }

    /// Writes elements of a u32 state from `start` on. Panics if `data` is longer than the rest of the state.
    pub fn write_elements(&mut self, state: State, start: usize, data: &[u32]) {
        assert!(
            start + data.len() <= state.shape.elements(),
            "{} elements from {start} on of a state of {}",
            data.len(),
            state.shape
        );
        match &mut self.runner {
            Runner::Cpu(session) => session.write(state, start, data),
            Runner::Gpu(session) => session.write(state, start, data),
        }
    }

    /// Copies rows between states, after earlier runs and before later ones.
    /// Panics if rows are out of range, or if two states are one or differ in width or type.
    pub fn copy_rows(&mut self, copies: &[RowCopy]) {
        for RowCopy { from, first, to, at, rows } in copies {
            let alike = from.shape.width == to.shape.width && from.dtype == to.dtype;
            assert!(from.index != to.index && alike, "rows of {} for {}", from.shape, to.shape);
            assert!(first + rows <= from.shape.rows && at + rows <= to.shape.rows, "{rows} rows");
        }
        match &mut self.runner {
            Runner::Cpu(session) => session.copy_rows(copies),
            Runner::Gpu(session) => session.copy_rows(copies),
        }
    }

    /// Copies rows from the states of `other`, a session on the same device, after its runs so far and before later
    /// runs of this session. Panics if rows are out of range, or if states differ in width or type.
    pub fn take_rows(&mut self, other: &Self, copies: &[RowCopy]) {
        for RowCopy { from, first, to, at, rows } in copies {
            let alike = from.shape.width == to.shape.width && from.dtype == to.dtype;
            assert!(alike, "rows of {} for {}", from.shape, to.shape);
            assert!(first + rows <= from.shape.rows && at + rows <= to.shape.rows, "{rows} rows");
        }
        match (&mut self.runner, &other.runner) {
            (Runner::Cpu(session), Runner::Cpu(other)) => session.take_rows(other, copies),
            (Runner::Gpu(session), Runner::Gpu(other)) => session.take_rows(other, copies),
            _ => unreachable!("sessions of one device"),
        }
    }

    /// Runs a program. On a GPU this only submits it; `read` waits.
    pub fn run(&mut self, program: Program, weights: &Weights) {
        match &mut self.runner {
            Runner::Cpu(session) => session.run(program.0, weights),
            Runner::Gpu(session) => session.run(program.0),
        }
    }

    /// As [`run`](Self::run), but on the CPU in parts: after each, `between` gets the finished part of the program, 0 to 1, and
    /// says whether to stop. `stop` also stops the operator that is running. Returns whether the program ran to its end.
    pub async fn run_in_parts(
        &mut self,
        program: Program,
        weights: &Weights,
        stop: &Arc<AtomicBool>,
        mut between: impl AsyncFnMut(f32) -> bool,
    ) -> bool {
        let Runner::Cpu(session) = &mut self.runner else {
            self.run(program, weights);
            return true;
        };
        let nodes = session.nodes(program.0) as f32;
        let mut next = 0;
        while let Some(node) = session.run_part(program.0, weights, next, stop) {
            next = node;
            if between(node as f32 / nodes).await {
                return false;
            }
        }
        true
    }

    /// Runs programs that may change weights, in turn: one submit on a GPU.
    pub fn train(&mut self, programs: &[Program], weights: &mut Weights) {
        match &mut self.runner {
            Runner::Cpu(session) => programs.iter().for_each(|program| session.train(program.0, weights)),
            Runner::Gpu(session) => session.run_in_turn(programs.iter().map(|program| program.0)),
        }
    }

    /// Writes an f32 state, `[rows, width]` without padding. Panics if `data` has another length.
    pub fn write_f32(&mut self, state: State, data: &[f32]) {
        assert_eq!(data.len(), state.shape.elements(), "all elements of {}", state.shape);
        match &mut self.runner {
            Runner::Cpu(session) => session.write_f32(state, data),
            Runner::Gpu(session) => session.write_f32(state, data),
        }
    }

    /// Runs a program and calls `use_elements` with a u32 state: one submit, one wait. Also returns errors of earlier
    /// commands.
    pub async fn run_and_read<R>(
        &mut self,
        program: Program,
        weights: &Weights,
        state: State,
        use_elements: impl FnOnce(&[u32]) -> R,
    ) -> Result<R, GpuError> {
        match &mut self.runner {
            Runner::Cpu(session) => {
                session.run(program.0, weights);
                Ok(use_elements(session.u32_state(state)))
            }
            Runner::Gpu(session) => session.run_and_read(program.0, state, use_elements).await,
        }
    }

    /// Submits a program `times` times, and a copy of a u32 state for [`wait`](Self::wait). The device can continue
    /// with later submits meanwhile. Panics on the CPU, which has no queue.
    pub fn submit(&mut self, program: Program, times: usize, state: State) -> Result<(), GpuError> {
        match &mut self.runner {
            Runner::Cpu(_) => unreachable!("on the CPU the host searches"),
            Runner::Gpu(session) => session.submit(program.0, times, state),
        }
    }

    /// Drops the [submitted](Self::submit) results that are not waited for.
    pub fn forget(&mut self) {
        if let Runner::Gpu(session) = &mut self.runner {
            session.forget();
        }
    }

    /// Calls `use_words` with the state of the oldest [submit](Self::submit); `None` if there is none. Also returns
    /// errors of earlier commands.
    pub async fn wait<R>(&mut self, use_words: impl FnOnce(&[u32]) -> R) -> Result<Option<R>, GpuError> {
        match &mut self.runner {
            Runner::Cpu(_) => Ok(None),
            Runner::Gpu(session) => session.wait(use_words).await,
        }
    }

    /// Keeps an f32 state beyond the session. On a GPU nothing is copied, so no later run may write it.
    pub fn keep(&self, state: State) -> DeviceTensor {
        let home = match &self.runner {
            Runner::Cpu(session) => TensorHome::Host(Arc::new(session.f32_state(state).to_vec())),
            Runner::Gpu(session) => {
                let (gpu, buffer) = session.keep(state);
                TensorHome::Gpu(gpu, buffer)
            }
        };
        DeviceTensor { shape: state.shape, home }
    }

    /// Reads a state, `[rows, width]` without padding; of a u32 state the bits. Also returns errors of earlier commands.
    pub async fn read(&self, state: State) -> Result<Vec<f32>, GpuError> {
        self.start_reading(state)?.finish().await
    }

    /// The same without waiting for the device: later runs do not change what [`finish`](Reading::finish) returns.
    pub fn start_reading(&self, state: State) -> Result<Reading, GpuError> {
        Ok(Reading(match &self.runner {
            Runner::Cpu(session) => ReadingOf::Host(session.f32_state(state).to_vec()),
            Runner::Gpu(session) => ReadingOf::Device(session.start_reading(state)?),
        }))
    }
}

/// A state that was [asked](Session::start_reading) for.
pub struct Reading(ReadingOf);

enum ReadingOf {
    Host(Vec<f32>),
    Device(GpuReading),
}

impl Reading {
    /// Waits for the state, and returns it as [`Session::read`] does.
    pub async fn finish(self) -> Result<Vec<f32>, GpuError> {
        match self.0 {
            ReadingOf::Host(data) => Ok(data),
            ReadingOf::Device(reading) => reading.finish().await,
        }
    }
}
