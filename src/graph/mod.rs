//! The graph runner, in four steps:
//!
//! 1. build: operators with shape checks
//! 2. plan: needed nodes, and buffers
//! 3. lower: launches as plain data
//! 4. run: on a GPU or on the CPU
//!
//! [`Graph`], [`Plan`] and [`LaunchList`] need no device. A [`Session`] holds the states that outlive a run (caches,
//! inputs, results), and one replayable program per plan. This module knows operators only by the trait [`Operator`].

mod buffers;
mod build;
mod cpu_run;
mod error;
mod gradients;
mod known_answer;
mod lower;
mod plan;
mod row_copy;
mod run;
mod run_cpu;
mod run_gpu;
mod tap_list;
mod taps;
mod training;
mod upload;
mod values;
mod weights;

pub use build::{Gradients, Graph, Node, Operator};
pub use cpu_run::CpuRun;
pub use error::{GraphError, UnstorableWeight};
pub use known_answer::check_known_answers;
pub use lower::{Binding, Launch, LaunchList, Lowering, Target};
pub use plan::Plan;
pub use row_copy::RowCopy;
pub use run::{DeviceTensor, Program, Reading, Session};
pub(crate) use tap_list::matches as tap_matches;
pub use tap_list::{KeptTap, TapView, Tapped, UnknownTap};
pub(crate) use training::TRAINING;
pub use training::{SortedRows, Training, step_word};
pub use upload::Upload;
pub use values::{Columns, State, StateTable, Value};
pub use weights::{Matrix, Rows, Vector, WeightKind, WeightSource, WeightTable, Weights};

#[doc(inline)]
pub use crate::kernels::{Access, AdapterClass, Dispatch, Field, Kernel, fold, stride};
#[doc(inline)]
pub use crate::shape::{Dtype, Shape};
