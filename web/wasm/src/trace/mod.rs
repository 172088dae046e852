//! A trace, with its weights in the module's memory or on the device that computed them. JavaScript requests tokens, single
//! maps, pixels, numbers and files, so weights are not copied. A trace outlives the call that made it, and a trace from a
//! file needs no engine.

mod describe;
mod make;
mod numbers;
mod on_device;
mod picture;
mod remembered;
mod weights;
mod which;

use std::rc::Rc;

use js_sys::{Float32Array, Promise, Uint8Array};
use wasm_bindgen::prelude::*;
use wordloom::heatmap::Painter;
use wordloom::trace::KeptAttention;

use crate::failure::Failure;
use crate::promise::promise;
use crate::results::{js_object, shape, to_js};

pub use make::{Input, Pair, translation};
pub use remembered::Remembered;
use weights::Weights;
use which::Which;

/// The trace of a translation. Calls may overlap, and continue after `free`.
#[wasm_bindgen]
pub struct Trace(Rc<Weights>);

#[wasm_bindgen]
impl Trace {
    /// Reads a trace file, JSON or safetensors. The file may be untrusted.
    pub fn open(bytes: &[u8]) -> Result<Trace, JsValue> {
        Ok(Self::on_host(wordloom::trace::Trace::from_bytes(bytes).map_err(Failure::from)?))
    }

    /// Everything except the weights.
    pub fn describe(&self) -> Result<JsValue, JsValue> {
        Ok(to_js(&describe::describe(&self.0))?)
    }

    /// The weights of one map, `{ shape: [queries, keys], weights }`; none if the map has more than 2²² cells.
    pub fn map(&self, which: JsValue) -> Promise {
        self.answer(async move |trace| {
            let (size, weights) = trace.cells(Which::new(&which)?).await?;
            Ok(js_object([("shape", shape(&size)), ("weights", Float32Array::from(&weights[..]).into())]))
        })
    }

    /// The pixels of one map, or of the grid of all heads of a kind, `{ width, height, rgba }`.
    pub fn paint(&self, which: JsValue, view: JsValue) -> Promise {
        self.answer(async move |trace| {
            let (which, view) = (Which::new(&which)?, picture::view(&view)?);
            Ok(picture::picture(&trace.paint(which, &view).await?))
        })
    }

    /// The numbers of one head.
    pub fn statistics(&self, which: JsValue) -> Promise {
        self.answer(async move |trace| to_js(&numbers::of_head(&trace, Which::new(&which)?).await?))
    }

    /// Every number of one attention, by the taps of the trace; see [`crate::explain`].
    pub fn explain(&self, input: JsValue) -> Promise {
        self.answer(async move |trace| crate::explain::TraceInput::new(&input)?.explain(trace.trace()))
    }

    /// The trace as a JSON file.
    pub fn json(&self) -> Promise {
        self.answer(
            async move |trace| Ok(Uint8Array::from(trace.whole().await?.to_json()?.as_bytes()).into()),
        )
    }

    /// The trace as a safetensors file.
    pub fn safetensors(&self) -> Promise {
        self.answer(async move |trace| {
            Ok(Uint8Array::from(&trace.whole().await?.to_safetensors()?[..]).into())
        })
    }
}

impl Trace {
    fn on_host(trace: wordloom::trace::Trace) -> Self {
        Self(Rc::new(Weights::on_host(trace)))
    }

    fn on_device(trace: wordloom::trace::Trace, attention: Vec<KeptAttention>, painter: Painter) -> Self {
        Self(Rc::new(Weights::on_device(trace, attention, painter)))
    }

    fn answer<J>(&self, job: J) -> Promise
    where
        J: AsyncFnOnce(Rc<Weights>) -> Result<JsValue, Failure> + 'static,
    {
        let weights = self.0.clone();
        promise(async move { job(weights).await.map_err(Failure::into_js) })
    }
}

/// 256 colours of a colour map, RGB.
#[wasm_bindgen(js_name = colourTable)]
pub fn colour_table(name: &str) -> Result<Uint8Array, JsValue> {
    Ok(picture::colour_table(name)?)
}
