//! The check of a GPU.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use wordloom::check::{CheckError, check};
use wordloom::{Device, DeviceChoice};

use crate::errors::{IntoPython, OrRaise};
use crate::run::{Watch, run};

/// Units of the progress.
const UNITS: u64 = 1000;

/// Compares every kernel of a GPU with the CPU: whether all are right, whether the GPU can be used, a sentence, the report in
/// Markdown, and as JSON.
#[pyfunction]
#[pyo3(signature = (device, progress=None))]
pub fn check_device(
    py: Python<'_>,
    device: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<(bool, bool, String, String, String)> {
    let choice: DeviceChoice =
        device.parse().map_err(|problem: String| PyValueError::new_err(format!("device: {problem}")))?;
    let watch = Watch::new(None, progress);
    let report = run(py, &watch, |progress| {
        let Device::Gpu(gpu) = pollster::block_on(Device::open(&choice)).or_raise()? else {
            let problem =
                "a check compares a GPU with the CPU; `device=\"gpu\"` takes software adapters, too";
            return Err(PyValueError::new_err(problem));
        };
        let mut tell = |fraction: f32, _: &'static str| {
            let _ = progress.send(((fraction * UNITS as f32) as u64, UNITS)); // nobody has to listen
        };
        let report = pollster::block_on(check(&gpu, &mut tell));
        gpu.store_pipelines();
        report.map_err(|error| match error {
            CheckError::Gpu(error) => error.into_python(),
            CheckError::Model(error) => error.into_python(),
        })
    })??;
    Ok((report.is_right(), report.is_usable(), report.summary(), report.markdown(), report.json()))
}
