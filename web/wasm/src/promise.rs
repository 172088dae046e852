//! Promises of JavaScript.

use std::pin::Pin;

use js_sys::Promise;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::future_to_promise;

/// Work that a call waits for.
pub type Work<T, E> = Pin<Box<dyn Future<Output = Result<T, E>>>>;

/// A promise of `work`. In a box, all kinds of work share the code that drives them.
pub fn promise(work: impl Future<Output = Result<JsValue, JsValue>> + 'static) -> Promise {
    let work: Work<JsValue, JsValue> = Box::pin(work);
    future_to_promise(work)
}
