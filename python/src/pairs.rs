//! Sentence pairs of Python: pairs of strings, or paths of files.

use std::path::PathBuf;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use wordloom::train::pairs::SentencePair;
use wordloom::train::session::PairSource;

use crate::errors::wrong_value;
use crate::strings::text;

/// Reads an argument with pairs.
///
/// * a path, or a tuple of two `Path`s: a file, or two with a sentence on each line
/// * an iterable of such paths, or of (source, target) strings
///
/// # Errors
/// `TypeError` and `ValueError`, which name the argument and the item.
pub fn sources(given: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<PairSource>> {
    if let Some(source) = files(given)? {
        return Ok(vec![source]);
    }
    let refused = || {
        let kind = given.get_type().name().map(|name| name.to_string()).unwrap_or_default();
        let way_out = "pass (source, target) strings, or a path, or a list of paths";
        PyTypeError::new_err(format!("{name} is {kind}; {way_out}"))
    };
    let items = match given.hasattr("__iter__")? {
        true => given.try_iter()?,
        false => return Err(refused()),
    };
    let (mut sources, mut pairs) = (Vec::new(), Vec::new());
    for (index, item) in items.enumerate() {
        let item = item?;
        match files(&item)? {
            Some(source) => sources.push(source),
            None => pairs.push(pair(&item, (name, index))?),
        }
        if !sources.is_empty() && !pairs.is_empty() {
            let problem = "paths and pairs of strings; pass one kind";
            return Err(PyTypeError::new_err(format!("{name} has {problem}")));
        }
    }
    match (sources.is_empty(), pairs.is_empty()) {
        (false, _) => Ok(sources),
        (true, false) => Ok(vec![PairSource::Pairs { name: name.to_owned(), pairs }]),
        (true, true) => Err(wrong_value(format!("{name} is empty; pass at least two pairs"))),
    }
}

/// The file of a path, or the files of a tuple of two `Path`s. A tuple of two strings is a pair.
fn files(item: &Bound<'_, PyAny>) -> PyResult<Option<PairSource>> {
    let is_path = |item: &Bound<'_, PyAny>| item.hasattr("__fspath__");
    if item.is_instance_of::<PyString>() || is_path(item)? {
        return Ok(Some(PairSource::File(item.extract()?)));
    }
    let Ok(tuple) = item.cast::<PyTuple>() else { return Ok(None) };
    if tuple.len() != 2 || !is_path(&tuple.get_item(0)?)? || !is_path(&tuple.get_item(1)?)? {
        return Ok(None);
    }
    let files: (PathBuf, PathBuf) = tuple.extract()?;
    Ok(Some(PairSource::TwoFiles(files.into())))
}

fn pair(item: &Bound<'_, PyAny>, (name, index): (&str, usize)) -> PyResult<SentencePair> {
    let sides: Vec<Bound<'_, PyAny>> = match (item.cast::<PyTuple>(), item.cast::<PyList>()) {
        (Ok(tuple), _) => tuple.iter().collect(),
        (_, Ok(list)) => list.iter().collect(),
        _ => Vec::new(),
    };
    let [source, target] = &sides[..] else {
        let kind = item.get_type().name().map(|name| name.to_string()).unwrap_or_default();
        return Err(PyTypeError::new_err(format!(
            "{name}[{index}] is {kind}; a pair is a tuple (source, target) of two strings"
        )));
    };
    Ok(SentencePair {
        source: side(source, || format!("{name}[{index}], source"))?,
        target: side(target, || format!("{name}[{index}], target"))?,
    })
}

/// A side of a pair, as the readers of files take it.
fn side(item: &Bound<'_, PyAny>, name: impl Fn() -> String) -> PyResult<String> {
    let text = text(item, &name)?;
    match text.trim() {
        "" => Err(wrong_value(format!("{} is empty; leave the pair out", name()))),
        trimmed if trimmed.contains('\0') => {
            Err(wrong_value(format!("{} contains a NUL character; remove it", name())))
        }
        trimmed => Ok(trimmed.to_owned()),
    }
}
