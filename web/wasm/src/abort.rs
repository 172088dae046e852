//! Stopping a call that is running.

use std::pin::Pin;

use send_wrapper::SendWrapper;
use wasm_bindgen::prelude::*;
use wordloom::transformer::Cancel;

use crate::host::Host;

/// Asks the calls that it was given to to stop. They do so before their next decode step.
#[wasm_bindgen]
#[derive(Default)]
pub struct Abort(Cancel);

#[wasm_bindgen]
impl Abort {
    #[wasm_bindgen(constructor)]
    pub fn new(host: Host) -> Self {
        // A worker hears nothing while it computes, so every step lets its event loop turn.
        let host = SendWrapper::new(host);
        Self(Cancel::with_turn(move || -> Pin<Box<dyn Future<Output = ()>>> {
            let turn = host.pause();
            Box::pin(async move {
                // a host that cannot pause goes on without
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
