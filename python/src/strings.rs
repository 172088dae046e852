//! Text and token ids of Python.

use pyo3::exceptions::{PyTypeError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyString;

use crate::errors::wrong_value;

/// The strings of a list, without a copy of their text.
///
/// # Errors
/// `TypeError` and `ValueError`, which name the item.
pub fn texts(list: &Bound<'_, PyAny>) -> PyResult<Vec<PyBackedStr>> {
    texts_from(list, 0)
}

/// As [`texts`]. Messages count items from `first`.
pub fn texts_from(list: &Bound<'_, PyAny>, first: usize) -> PyResult<Vec<PyBackedStr>> {
    let name = |index| format!("text {}", first + index);
    list.try_iter()?.enumerate().map(|(index, item)| text(&item?, || name(index))).collect()
}

/// A string.
pub fn text(item: &Bound<'_, PyAny>, name: impl FnOnce() -> String) -> PyResult<PyBackedStr> {
    let Ok(string) = item.cast::<PyString>() else {
        let kind = item.get_type().name().map(|name| name.to_string()).unwrap_or_default();
        let way_out = match kind.as_str() {
            "bytes" => "; decode it first: .decode(\"utf-8\")",
            "NoneType" | "NAType" | "float" => {
                "; leave rows without text out, or call translate_arrow, whose nulls stay nulls"
            }
            "Translation" => "; pass its .text",
            _ => "",
        };
        return Err(PyTypeError::new_err(format!("{} is {kind}, not str{way_out}", name())));
    };
    PyBackedStr::try_from(string.clone()).map_err(|error| {
        match error.is_instance_of::<PyUnicodeEncodeError>(item.py()) {
            true => wrong_value(format!(
                "{} has a lone surrogate, which is no character; .encode(\"utf-8\", \"replace\").decode() replaces it",
                name()
            )),
            false => error,
        }
    })
}

/// Token ids of a list of integers.
pub fn ids(list: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<u32>> {
    list.try_iter()?
        .map(|item| {
            let item = item?;
            item.extract::<u32>()
                .map_err(|_| wrong_value(format!("{name} holds {}; use whole numbers from 0", shown(&item))))
        })
        .collect()
}

/// A value for messages.
pub fn shown(item: &Bound<'_, PyAny>) -> String {
    let text = item.repr().map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
    text.chars().take(40).collect()
}
