//! The JavaScript interface of Wordloom's documents. Its only caller is the npm package's TypeScript
//! (`web/ts/document-server.ts`), which runs it in a worker. The translations come from a translator elsewhere.
//!
//! Every failure is an `Error` with the `kind` `input`.

#![cfg(target_arch = "wasm32")]

mod file;

pub use file::DocumentFile;

/// Logs the location of a panic to the console. A panic is a bug and ends the module.
#[wasm_bindgen::prelude::wasm_bindgen(start)]
pub fn start() {
    console_error_panic_hook::set_once();
}
