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

    pub fn abort(&self) {
        self.0.cancel();
    }
}

impl Abort {
    pub fn cancel(&self) -> Cancel {
        self.0.clone()
    }
}
