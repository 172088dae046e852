//! The JavaScript interface of Wordloom's training, and of the check of a GPU. Its only caller is the npm package's TypeScript (`web/ts/train-server.ts`),
//! which runs it in a worker, one call after the other.
//!
//! Every failure is an `Error` with a `kind`; see [`failure`].

#![cfg(target_arch = "wasm32")]

mod check;
mod failure;
mod lesson;
mod results;

pub use check::check_device;
pub use lesson::Pupil;

/// Logs the location of a panic to the console. A panic is a bug and ends the module.
#[wasm_bindgen::prelude::wasm_bindgen(start)]
pub fn start() {
    console_error_panic_hook::set_once();
}
