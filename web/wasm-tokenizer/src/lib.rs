//! The JavaScript interface of Hugging Face's tokenizers. Its only caller is the engine's module, in the same thread
//! (`web/wasm/src/fast_tokenizer.rs`).
//!
//! Every failure is an `Error` with the `kind` `input`.

#![cfg(target_arch = "wasm32")]

use js_sys::{Error, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;
use wordloom::TextError;
use wordloom::model::files::ModelFiles;
use wordloom::model::read_fast_tokenizer;
use wordloom::text::{FastTokenizer as _, HuggingFaceTokenizer};

/// Logs the location of a panic to the console. A panic is a bug and ends the module.
#[wasm_bindgen(start)]
pub fn start() {
    console_error_panic_hook::set_once();
}

/// A tokenizer that Hugging Face's library runs.
#[wasm_bindgen]
pub struct FastTokenizer(HuggingFaceTokenizer);

#[wasm_bindgen]
impl FastTokenizer {
    /// Reads the tokenizer of a folder, whose small files are given by name. `label`: the folder's name in messages.
    pub fn open(
        label: &str,
        names: Vec<String>,
        contents: Vec<Uint8Array>,
    ) -> Result<FastTokenizer, JsValue> {
        let files = names.into_iter().zip(contents.iter().map(Uint8Array::to_vec));
        match read_fast_tokenizer(&ModelFiles::memory(label, files)) {
            Ok(tokenizer) => Ok(Self(tokenizer)),
            Err(error) => Err(failure(&error.to_string())),
        }
    }

    /// The ids of a text.
    pub fn encode(&self, text: &str, add_special_tokens: bool) -> Result<Vec<u32>, JsValue> {
        self.0.encode(text, add_special_tokens).map_err(|error| reason(&error))
    }

    /// The text of ids.
    pub fn decode(&self, ids: &[u32], skip_special_tokens: bool) -> Result<String, JsValue> {
        self.0.decode(ids, skip_special_tokens).map_err(|error| reason(&error))
    }

    /// The token with this id.
    pub fn token(&self, id: u32) -> Option<String> {
        self.0.token(id)
    }

    /// The id of a token.
    pub fn id(&self, token: &str) -> Option<u32> {
        self.0.id(token)
    }

    /// The largest id.
    pub fn last(&self) -> u32 {
        self.0.last().0
    }

    /// The ids of special tokens, ascending.
    #[wasm_bindgen(js_name = specialIds)]
    pub fn special_ids(&self) -> Vec<u32> {
        self.0.special_ids().to_vec()
    }
}

/// The reason alone: the engine adds the file's name.
fn reason(error: &TextError) -> JsValue {
    match error {
        TextError::Malformed { reason, .. } => failure(reason),
        error => failure(&error.to_string()),
    }
}

fn failure(message: &str) -> JsValue {
    let error = Error::new(message);
    // a plain object accepts every property
    let _ = Reflect::set(&error, &"kind".into(), &"input".into());
    error.into()
}
