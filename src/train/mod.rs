//! Training of encoder–decoders on the graph that also infers. Vaswani et al. 2017, section 5.
//!
//! | file | |
//! |---|---|
//! | [`Trainer`], [`Recipe`] | gradients, loss and optimizer of a model on a device |
//! | [`run`] | a training run: epochs, batches, learning rate, losses |
//! | [`checkpoint`] | the files of a checkpoint, from which a run goes on |
//! | [`pairs`] | sentence pairs from files; pairs of a dev set that the training data has, too |
//! | [`augment`], [`substitute`] | examples that every epoch makes anew; other names and numbers in both sides |
//! | [`vocabulary`] | a SentencePiece model and `vocab.json` from text |
//! | [`batches`] | packed batches in an order by seed |
//! | [`schedule`], [`stopping`] | learning rate; early stopping |
//! | [`new_model`], [`initial_weights`] | shape and first weights of a model |
//! | [`mod@new_vocabulary`] | another vocabulary for a model that has learned before |
//! | [`mod@new_projections`] | learned projections of keys and values for layers that have none |
//! | [`folder`], [`card`], [`mod@write`] | a Marian folder, written so that a failure keeps the old one |
//! | [`average`] | mean of several checkpoints |
//! | [`session`] | all of it together: from options and pairs to a folder |
//! | [`Task`], [`Lesson`] | small tasks, and what the page shows of learning them |
//!
//! Files are read and written natively only; everything else takes readers and bytes, so it also runs in a browser.

pub mod augment;
pub mod average;
pub mod batches;
pub mod card;
pub mod checkpoint;
mod error;
pub mod folder;
pub mod initial_weights;
mod lesson;
pub mod new_model;
pub mod new_projections;
pub mod new_vocabulary;
mod packed;
pub mod pairs;
mod programs;
mod random;
mod recipe;
pub mod run;
pub mod schedule;
#[cfg(not(target_arch = "wasm32"))]
pub mod session;
mod small_model;
mod spanish;
pub mod stopping;
pub mod substitute;
mod symbols;
mod tasks;
mod trainer;
pub mod vocabulary;
#[cfg(not(target_arch = "wasm32"))]
pub mod write;

pub use error::TrainError;
pub use lesson::{Lesson, LessonOptions, LessonRecipe, Snapshot, TaskOptions};
pub use packed::{Capacity, Pair};
pub use recipe::Recipe;
pub use small_model::SmallModel;
pub use symbols::Symbols;
pub use tasks::{Draws, LONGEST_TEXT, MOST_PAIRS, Rule, Task, TaskError};
pub use trainer::{Losses, Moments, Trainer};
