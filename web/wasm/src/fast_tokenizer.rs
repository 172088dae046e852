//! A tokenizer that Hugging Face's library runs in a module of its own.

use std::fmt;

use send_wrapper::SendWrapper;
use wasm_bindgen::prelude::*;
use wordloom::TextError;
use wordloom::text::FastTokenizer;

use crate::failure::message_of;

#[wasm_bindgen]
extern "C" {
    /// `FastTokenizer` of `web/wasm-tokenizer`.
    #[derive(Clone)]
    pub type JsTokenizer;
    #[wasm_bindgen(method, catch)]
    fn encode(this: &JsTokenizer, text: &str, add_special_tokens: bool) -> Result<Vec<u32>, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn decode(this: &JsTokenizer, ids: &[u32], skip_special_tokens: bool) -> Result<String, JsValue>;
    #[wasm_bindgen(method)]
    fn token(this: &JsTokenizer, id: u32) -> Option<String>;
    #[wasm_bindgen(method)]
    fn id(this: &JsTokenizer, token: &str) -> Option<u32>;
    #[wasm_bindgen(method)]
    fn last(this: &JsTokenizer) -> u32;
    #[wasm_bindgen(method, js_name = specialIds)]
    fn special_ids(this: &JsTokenizer) -> Vec<u32>;
}

/// The other module's tokenizer, for the library.
pub struct TokenizerElsewhere {
    tokenizer: SendWrapper<JsTokenizer>,
    special: Vec<u32>,
    last: (u32, String),
}

impl TokenizerElsewhere {
    pub fn new(tokenizer: &JsTokenizer) -> Self {
        let last = tokenizer.last();
        Self {
            special: tokenizer.special_ids(),
            last: (last, tokenizer.token(last).unwrap_or_default()),
            tokenizer: SendWrapper::new(tokenizer.clone()),
        }
    }
}

impl FastTokenizer for TokenizerElsewhere {
    fn encode(&self, text: &str, add_special_tokens: bool) -> Result<Vec<u32>, TextError> {
        self.tokenizer.encode(text, add_special_tokens).map_err(|error| malformed(&error))
    }

    fn decode(&self, ids: &[u32], skip_special_tokens: bool) -> Result<String, TextError> {
        self.tokenizer.decode(ids, skip_special_tokens).map_err(|error| malformed(&error))
    }

    fn token(&self, id: u32) -> Option<String> {
        self.tokenizer.token(id)
    }

    fn id(&self, token: &str) -> Option<u32> {
        self.tokenizer.id(token)
    }

    fn last(&self) -> (u32, &str) {
        (self.last.0, &self.last.1)
    }

    fn special_ids(&self) -> &[u32] {
        &self.special
    }
}

fn malformed(error: &JsValue) -> TextError {
    TextError::Malformed { file: "the tokenizer".to_owned(), reason: message_of(error) }
}

impl fmt::Debug for TokenizerElsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenizerElsewhere").field("last", &self.last).finish_non_exhaustive()
    }
}
