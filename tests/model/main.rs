//! Files of models: configurations, checkpoints and what is refused.

#[path = "../common/mod.rs"]
mod common;

mod checkpoint;
mod config;
mod firefox_files;
mod generation_config;
mod pickle;
mod positions_and_activations;
