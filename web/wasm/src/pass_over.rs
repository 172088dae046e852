//! Kernels that an earlier check of this device found wrong or slow. The page keeps them, because the module has no storage.

use std::collections::BTreeSet;
use std::sync::Arc;

use js_sys::JSON;
use serde::Deserialize;
use wasm_bindgen::JsValue;
use wordloom::gpu::{Extent, Gpu, Verdict};
use wordloom::json_problem::json_problem;
use wordloom::kernels::PassedOver;

use crate::failure::Failure;

/// `CreateOptions.passOver`.
#[derive(Deserialize)]
pub struct PassOver {
    adapter: String,
    version: String,
    wrong: BTreeSet<String>,
    slow: BTreeSet<String>,
}

impl PassOver {
    /// Reads the option; `undefined` is `None`.
    pub fn of_js(value: &JsValue) -> Result<Option<Self>, Failure> {
        if value.is_undefined() {
            return Ok(None);
        }
        let text = JSON::stringify(value).ok().and_then(|text| text.as_string()).unwrap_or_default();
        serde_json::from_str(&text).map(Some).map_err(|error| {
            Failure::input(format!("passOver is not the result of checkDevice: {}", json_problem(&error)))
        })
    }

    /// Tells a device. Of another device, or another version's kernels, nothing is known.
    pub fn tell(&self, gpu: &Gpu) {
        if self.adapter != gpu.adapter().name() || self.version != env!("CARGO_PKG_VERSION") {
            return;
        }
        let passed_over =
            PassedOver { wrong: self.wrong.clone(), slow: self.slow.clone(), ..PassedOver::default() };
        gpu.set_verdict(Verdict {
            extent: Extent::Full,
            passed_over: Arc::new(passed_over),
            ..Verdict::default()
        });
    }
}
