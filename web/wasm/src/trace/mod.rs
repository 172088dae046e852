//! A trace in the module's memory: JavaScript asks it for tokens, single maps, pixels, numbers and files, so that the
//! weights themselves stay here. It outlives the engine that made it, and needs none if it comes from a file.

mod describe;
mod make;
mod numbers;
mod picture;
mod which;

use std::cell::RefCell;

use js_sys::{Float32Array, Uint8Array};
use wasm_bindgen::prelude::*;
use wordloom::trace::{LayerAttention, TracedSentence};

use crate::failure::Failure;
use crate::results::{js_object, shape, to_js};

pub use make::Input;
use which::Which;

/// What a translation left to be looked at.
#[wasm_bindgen]
pub struct Trace {
    trace: wordloom::trace::Trace,
    /// The last map that is a mean or one head of several: it is asked for again with every repaint.
    derived: RefCell<Option<(Which, LayerAttention)>>,
}

#[wasm_bindgen]
impl Trace {
    /// Reads a trace file, JSON or safetensors; it may come from anywhere.
    pub fn open(bytes: &[u8]) -> Result<Trace, JsValue> {
        let trace = wordloom::trace::Trace::from_bytes(bytes).map_err(Failure::from)?;
        Ok(trace.into())
    }

    /// Everything but the weights.
    pub fn describe(&self) -> Result<JsValue, JsValue> {
        Ok(to_js(&describe::describe(&self.trace))?)
    }

    /// The weights of one map, `{ shape: [queries, keys], weights }`.
    pub fn map(&self, which: JsValue) -> Result<JsValue, JsValue> {
        let which = Which::new(&which)?;
        self.with_map(which, |map| {
            let weights = Float32Array::from(&map.weights[..]);
            Ok(js_object([("shape", shape(&[map.queries, map.keys])), ("weights", weights.into())]))
        })
    }

    /// The pixels of one map, or of the grid of all heads of a kind, `{ width, height, rgba }`.
    pub fn paint(&self, which: JsValue, view: JsValue) -> Result<JsValue, JsValue> {
        let which = Which::new(&which)?;
        let view = picture::view(&view)?;
        if which.is_grid() {
            let layers: Vec<&LayerAttention> = self.sentence(which.sentence)?.layers(which.kind).collect();
            return Ok(picture::paint(&layers, &view)?);
        }
        self.with_map(which, |map| picture::paint(&[map], &view))
    }

    /// The numbers of one head.
    pub fn statistics(&self, which: JsValue) -> Result<JsValue, JsValue> {
        let which = Which::new(&which)?;
        Ok(to_js(&numbers::of_head(self.sentence(which.sentence)?, which)?)?)
    }

    /// The trace as a JSON file.
    pub fn json(&self) -> Result<Uint8Array, JsValue> {
        Ok(Uint8Array::from(self.trace.to_json().map_err(Failure::from)?.as_bytes()))
    }

    /// The trace as a safetensors file.
    pub fn safetensors(&self) -> Result<Uint8Array, JsValue> {
        Ok(Uint8Array::from(&self.trace.to_safetensors().map_err(Failure::from)?[..]))
    }
}

impl From<wordloom::trace::Trace> for Trace {
    fn from(trace: wordloom::trace::Trace) -> Self {
        Self { trace, derived: RefCell::new(None) }
    }
}

impl Trace {
    fn sentence(&self, index: usize) -> Result<&TracedSentence, Failure> {
        let count = self.trace.sentences.len();
        self.trace.sentences.get(index).ok_or_else(|| {
            Failure::input(format!("there is no sentence {index}; the trace has {count}, counted from 0"))
        })
    }

    /// Hands `work` a single map, as a layer of one head.
    fn with_map<T>(
        &self,
        which: Which,
        work: impl FnOnce(&LayerAttention) -> Result<T, Failure>,
    ) -> Result<T, JsValue> {
        let mut derived = self.derived.borrow_mut();
        if derived.as_ref().is_none_or(|(known, _)| *known != which) {
            *derived = Some((which, which.derive(self.sentence(which.sentence)?)?));
        }
        let (_, map) = derived.as_ref().ok_or_else(|| Failure::input("there is no such map"))?;
        Ok(work(map)?)
    }
}

/// 256 colours of a colour map, RGB.
#[wasm_bindgen(js_name = colourTable)]
pub fn colour_table(name: &str) -> Result<Uint8Array, JsValue> {
    Ok(picture::colour_table(name)?)
}
