//! Running plans: the same states and programs on a GPU or on the CPU.

use super::plan::Plan;
use super::run_cpu::CpuSession;
use super::run_gpu::GpuSession;
use super::weights::Weights;
use super::{State, StateTable};
use crate::device::Device;
use crate::gpu::GpuError;

/// A plan in a session, ready to be replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program(usize);

/// States on a device, and the programs that work on them. Everything is allocated when the session is made; running
/// a program allocates nothing.
pub struct Session {
    runner: Runner,
}

enum Runner {
    Cpu(CpuSession),
    Gpu(GpuSession),
}

impl Session {
    /// Allocates the states and prepares the plans; [`Session::program`] gives them in the same order.
    ///
    /// # Errors
    /// [`GpuError`] where the device has no room.
    pub fn new(
        device: &Device,
        weights: &Weights,
        states: &StateTable,
        plans: Vec<Plan>,
    ) -> Result<Self, GpuError> {
        let runner = match device {
            Device::Cpu => Runner::Cpu(CpuSession::new(states, plans)),
            Device::Gpu(gpu) => Runner::Gpu(GpuSession::new(gpu.clone(), weights, states, &plans)?),
        };
        Ok(Self { runner })
    }

    /// The program made from the plan at `index`.
    pub fn program(&self, index: usize) -> Program {
        Program(index)
    }

    /// Writes the first elements of a u32 state, for the runs that follow.
    ///
    /// # Panics
    /// When `data` is longer than the state.
    pub fn write(&mut self, state: State, data: &[u32]) {
        assert!(
            data.len() <= state.shape.elements(),
            "{} elements for a state of {}",
            data.len(),
            state.shape
        );
        match &mut self.runner {
            Runner::Cpu(session) => session.write(state, data),
            Runner::Gpu(session) => session.write(state, data),
        }
    }

    /// Runs a program. On a GPU this submits it; `read` waits for it.
    pub fn run(&mut self, program: Program, weights: &Weights) {
        match &mut self.runner {
            Runner::Cpu(session) => session.run(program.0, weights),
            Runner::Gpu(session) => session.run(program.0),
        }
    }

    /// Runs a program and hands the elements of a u32 state to `use_elements`: one submit, one wait.
    ///
    /// # Errors
    /// [`GpuError`] of this or an earlier command.
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

    /// Reads an f32 state, `[rows, width]` without padding.
    ///
    /// # Errors
    /// [`GpuError`] of this or an earlier command.
    pub async fn read(&self, state: State) -> Result<Vec<f32>, GpuError> {
        match &self.runner {
            Runner::Cpu(session) => Ok(session.f32_state(state).to_vec()),
            Runner::Gpu(session) => session.read(state).await,
        }
    }
}
