//! Stopping a call that is running.

use std::pin::Pin;

use send_wrapper::SendWrapper;
use wasm_bindgen::prelude::*;
use wordloom::transformer::Cancel;

use crate::host::Host;

/// Stops the calls that it was passed to, before their next decoding step.
#[wasm_bindgen]
#[derive(Default)]
pub struct Abort(Cancel);

#[wasm_bindgen]
impl Abort {
    /// A signal that is not given yet. `host` lets the worker's event loop turn.
    #[wasm_bindgen(constructor)]
    pub fn new(host: Host) -> Self {
        // a worker gets no messages while it computes, so every step lets its event loop turn
        let host = SendWrapper::new(host);
        Self(Cancel::with_turn(move || -> Pin<Box<dyn Future<Output = ()>>> {
            let turn = host.pause();
            Box::pin(async move {
                // a host that cannot pause continues without a turn
                let _ = wasm_bindgen_futures::JsFuture::from(turn).await;
            })
        }))
    }

    /// Stops the calls.
    pub fn abort(&self) {
        self.0.cancel();
    }
}

impl Abort {
    /// The library's handle of this signal.
    pub fn cancel(&self) -> Cancel {
        self.0.clone()
    }
}
