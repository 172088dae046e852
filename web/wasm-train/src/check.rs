//! The check of a GPU, for JavaScript. It is in this module because it trains, too.

use js_sys::Function;
use serde::Serialize;
use wasm_bindgen::prelude::*;
use wordloom::Device;
use wordloom::check::{CheckError, Report, Verdict, check};

use crate::failure::Failure;
use crate::lesson::open;
use crate::results::to_js;

/// The result of a check.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DeviceCheck {
    right: bool,
    usable: bool,
    /// One sentence.
    summary: String,
    /// The report in Markdown.
    report: String,
    pass_over: PassOver,
}

/// Kernels that this device must not get any more, for `CreateOptions.passOver`.
#[derive(Serialize)]
struct PassOver {
    adapter: String,
    version: &'static str,
    wrong: Vec<String>,
    slow: Vec<String>,
}

/// Compares every kernel of a GPU with the CPU. `device`: `gpu`, `auto` or a part of an adapter's name. `on_progress` gets the
/// finished part, 0 to 1.
#[wasm_bindgen(js_name = checkDevice)]
pub async fn check_device(device: String, on_progress: Function) -> Result<JsValue, JsValue> {
    let (device, _) = open(&device).await?;
    let Device::Gpu(gpu) = device else {
        let problem = "There is no GPU to check: the browser offers none, or only one in software.";
        return Err(Failure::unsupported(problem).into());
    };
    let mut progress = |fraction: f32, _: &'static str| {
        let _ = on_progress.call1(&JsValue::NULL, &fraction.into()); // a failing listener stops nothing
    };
    let report = check(&gpu, &mut progress).await.map_err(|error| match error {
        CheckError::Gpu(error) => Failure::from(error),
        CheckError::Model(error) => Failure::internal(error.to_string()),
    })?;
    Ok(to_js(&result(&report))?)
}

fn result(report: &Report) -> DeviceCheck {
    let names = |verdict: Verdict| {
        let kernels = report.kernels.iter().filter(|line| line.verdict == verdict);
        kernels.map(|line| line.kernel.clone()).collect()
    };
    DeviceCheck {
        right: report.is_right(),
        usable: report.is_usable(),
        summary: report.summary().replace("use `--device cpu`", "use the CPU (`device: \"cpu\"`)"),
        report: report.markdown(),
        pass_over: PassOver {
            adapter: report.device.adapter.clone(),
            version: report.version,
            wrong: names(Verdict::Wrong),
            slow: names(Verdict::Slow),
        },
    }
}
