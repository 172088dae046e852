//! Files of models: configurations, checkpoints and what is refused.

#[path = "../common/mod.rs"]
mod common;

use wordloom::model::ModelError;
use wordloom::model::files::ModelFiles;

mod checkpoint;
mod compared;
mod config;
mod firefox_files;
mod generation_config;
mod pickle;
mod positions_and_activations;

/// A folder of the fixtures.
fn model(name: &str) -> ModelFiles {
    ModelFiles::directory(common::data("models").join(name)).unwrap()
}

#[track_caller]
fn assert_refused<T>(result: Result<T, ModelError>, message: &str) {
    let error = result.err().unwrap_or_else(|| panic!("accepted, though: {message}")).to_string();
    assert!(error.contains(message), "{error:?} does not say {message:?}");
    assert!(!error.contains('\n'), "{error:?} is more than a line");
}
