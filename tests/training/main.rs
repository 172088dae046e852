//! Training runs of whole models.

#[path = "../common/mod.rs"]
mod common;

mod lesson;
mod runs;
