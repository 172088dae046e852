//! The JavaScript interface of Wordloom. Its only caller is the npm package's TypeScript (`web/ts`), which adds types, runs these
//! classes in a worker, and finds the model's files.
//!
//! Every failure is an `Error` with a `kind`; see [`failure`].

#![cfg(target_arch = "wasm32")]

mod abort;
mod attention;
mod codes;
mod engine;
mod explain;
mod failure;
mod fast_tokenizer;
mod glossary;
mod host;
mod info;
mod languages;
mod loading;
mod options;
mod pass_over;
mod positions;
mod promise;
mod requests;
mod results;
mod search;
mod trace;

pub use abort::Abort;
pub use engine::Engine;
pub use trace::{Trace, colour_table};

/// Logs the location of a panic to the console. A panic is a bug and ends the module.
#[wasm_bindgen::prelude::wasm_bindgen(start)]
pub fn start() {
    console_error_panic_hook::set_once();
}

/// The families that the engine reads, by the `model_type` of their `config.json`.
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn families() -> Vec<String> {
    wordloom::model::config::Family::ALL.map(|family| family.model_type().to_owned()).into()
}
