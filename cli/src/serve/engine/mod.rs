//! Models that translate for all clients.
//!
//! | file | |
//! |---|---|
//! | `queue` | sentences of all clients, in the order of their turns |
//! | `model` | a loaded model: its thread and its queue |
//! | `pool` | the offered models; the loaded ones within a memory budget |

mod model;
mod pool;
mod queue;

pub use model::{Failure, Lease, blocking};
pub use pool::{Numbers, Pool, PoolOptions};
