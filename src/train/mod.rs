//! Training of encoder–decoders: gradients, loss and optimizer on the graph that also infers. Vaswani et al. 2017,
//! section 5.

mod error;
mod packed;
mod programs;
mod recipe;
mod trainer;

pub use error::TrainError;
pub use packed::{Capacity, Pair};
pub use recipe::Recipe;
pub use trainer::{Losses, Moments, Trainer};
