//! The extension module of the Python package `wordloom`.
//!
//! | file | |
//! |---|---|
//! | `engine` | a model on a device |
//! | `translate`, `arrow`, `generate`, `score`, `forward`, `attention` | its calls |
//! | `evaluate` | BLEU, chrF, ROUGE |
//! | `check` | the check of a GPU |
//! | `train`, `options`, `pairs` | a training; its options and sentence pairs |
//! | `strings`, `capsules` | values that come from Python: text, Arrow arrays |
//! | `run` | work without the interpreter's lock, which Ctrl-C stops |
//! | `errors` | exceptions, named after the library's errors |
//!
//! The package's Python files (`python/wordloom`) have the documented interface; this module is theirs alone.

mod arrow;
mod attention;
mod capsules;
mod check;
mod engine;
mod errors;
mod evaluate;
mod forward;
mod generate;
mod options;
mod pairs;
mod run;
mod score;
mod strings;
mod train;
mod translate;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::arrow::{ArrowArray, ArrowTable};
    #[pymodule_export]
    use super::attention::Attention;
    #[pymodule_export]
    use super::check::check_device;
    #[pymodule_export]
    use super::engine::Engine;
    #[pymodule_export]
    use super::errors::{
        ArrowError, Cancelled, EvaluateError, ForwardError, GenerateError, GpuError, HubError, ModelError,
        ScoreError, TextError, TraceError, TrainError, TranslateError, WordloomError,
    };
    #[pymodule_export]
    use super::evaluate::evaluate;
    #[pymodule_export]
    use super::run::Cancel;
    #[pymodule_export]
    use super::train::train;
    use super::*;

    /// The licences of everything that this package has from others.
    #[pyfunction]
    fn licences() -> String {
        wordloom_licences::text()
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
