//! The graph runner: build (operators with shape checks) → plan (which buffer holds what, when) → run (on the GPU or
//! on the CPU).
//!
//! [`Graph`] and [`Plan`] know no device. A [`Session`] holds the device's half: the states that outlive a run (key and
//! value caches, inputs, results) and one replayable program for each plan.

mod build;
mod error;
mod known_answer;
mod op;
mod plan;
mod run;
mod run_cpu;
mod run_gpu;
mod upload;
mod weights;

pub use build::{Graph, State, StateTable, Value};
pub use error::{GraphError, UnstorableWeight};
pub use known_answer::check_known_answers;
pub use op::{Columns, Linear, Node, Normalization, Op, SearchStates, SearchTable, SearchValues};
pub use plan::Plan;
pub use run::{Kept, Program, RowCopy, Session};
pub use upload::Upload;
pub use weights::{Matrix, Rows, Vector, WeightKind, WeightSource, WeightTable, Weights};
