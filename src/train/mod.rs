//! Training of encoder–decoders: gradients, loss and optimizer on the graph that also infers. Vaswani et al. 2017,
//! section 5.

mod error;
mod lesson;
mod packed;
mod programs;
mod recipe;
mod small_model;
mod spanish;
mod symbols;
mod tasks;
mod trainer;

pub use error::TrainError;
pub use lesson::{Lesson, LessonOptions, LessonRecipe, Snapshot, TaskOptions};
pub use packed::{Capacity, Pair};
pub use recipe::Recipe;
pub use small_model::SmallModel;
pub use symbols::Symbols;
pub use tasks::{Draws, Rule, Task, TaskError};
pub use trainer::{Losses, Moments, Trainer};
