//! What JavaScript sees of Wordloom. The npm package's TypeScript (`web/ts`) is the only caller: it gives these few
//! classes a typed face, moves them into a worker, and finds the model's files.
//!
//! Whatever goes wrong reaches JavaScript as an `Error` with a `kind`; see [`failure`].

#![cfg(target_arch = "wasm32")]

mod abort;
mod attention;
mod engine;
mod failure;
mod host;
mod languages;
mod loading;
mod options;
mod positions;
mod results;
mod search;
mod trace;

pub use abort::Abort;
pub use engine::Engine;
pub use trace::{Trace, colour_table};

/// A panic is a mistake of ours. It ends the module; the console gets to know where it was.
#[wasm_bindgen::prelude::wasm_bindgen(start)]
pub fn start() {
    console_error_panic_hook::set_once();
}
