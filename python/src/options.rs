//! The options of a training, from a dict of Python.

use std::path::PathBuf;

use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyString};
use serde_json::Value;
use wordloom::model::{SelfAttentionChoice, SelfAttentionError};
use wordloom::precision::Products;
use wordloom::train::session::{Config, ExampleOptions, Numbers, Options, PairSource, Tests};
use wordloom::train::stopping::Goal;

use crate::errors::wrong_value;
use crate::strings::shown;

const COUNT: &str = "a whole number from 0";
const NUMBER: &str = "a number";
const FLAG: &str = "True or False";
const TEXT: &str = "a str";
const TEXTS: &str = "a list of str";
const PATH: &str = "a path";

/// Options by name; `config` may be a name or a path, else `config_keys` has JSON.
pub struct Given<'a, 'py>(pub &'a Bound<'py, PyDict>);

impl<'py> Given<'_, 'py> {
    /// An option that must be there.
    fn get<T: FromPyObjectOwned<'py>>(&self, name: &str, wanted: &str) -> PyResult<T> {
        match self.optional(name, wanted)? {
            Some(value) => Ok(value),
            None => Err(PyTypeError::new_err(format!("{name} is None; pass {wanted}"))),
        }
    }

    /// An option that may be `None`.
    fn optional<T: FromPyObjectOwned<'py>>(&self, name: &str, wanted: &str) -> PyResult<Option<T>> {
        let Some(value) = self.0.get_item(name)?.filter(|value| !value.is_none()) else { return Ok(None) };
        let is_list_of_letters = wanted == TEXTS && value.is_instance_of::<PyString>();
        match value.extract() {
            Ok(value) if !is_list_of_letters => Ok(Some(value)),
            result => {
                let message = format!("{name} is {}; pass {wanted}", shown(&value));
                let error = result.err().map(Into::into);
                let py = value.py();
                let is_large = error.is_some_and(|error: PyErr| error.is_instance_of::<PyOverflowError>(py));
                let is_number = value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>();
                let is_value = is_large || (is_number && [COUNT, NUMBER].contains(&wanted));
                Err(if is_value { wrong_value(message) } else { PyTypeError::new_err(message) })
            }
        }
    }

    /// The options of a training.
    pub fn options(&self, pairs: Vec<PairSource>, dev: Vec<PairSource>) -> PyResult<Options> {
        let named = self.optional("config", "\"tiny\", \"small\", \"base\", a path or a dict")?;
        let keys: Option<String> = self.optional("config_keys", TEXT)?;
        let keys = keys.and_then(|json| match serde_json::from_str(&json) {
            Ok(Value::Object(keys)) => Some(Config::Keys(keys)),
            _ => None,
        });
        Ok(Options {
            dev,
            resume: self.get("resume", FLAG)?,
            model: self.optional("model", PATH)?,
            config: keys.or(named.map(|path: PathBuf| Config::Named(path.display().to_string()))),
            vocabulary: self.optional("vocabulary", COUNT)?,
            attention: self.attention()?,
            from: self.optional("source_lang", TEXT)?,
            to: self.optional("target_lang", TEXT)?,
            max_steps: self.optional("max_steps", COUNT)?,
            max_minutes: self.optional("max_minutes", NUMBER)?,
            patience: self.get("patience", COUNT)?,
            freeze: self.get("freeze", TEXTS)?,
            train_only: self.get("train_only", TEXTS)?,
            examples: ExampleOptions {
                tags: self.get("tags", TEXTS)?,
                ignore_columns: self.get("ignore_columns", FLAG)?,
                swap: self.get("swap", FLAG)?,
                substitute: self.optional("substitute", PATH)?,
                joined: self.get("joined", NUMBER)?,
                lower_cased: self.get("lower_cased", NUMBER)?,
                unpunctuated: self.get("unpunctuated", NUMBER)?,
            },
            numbers: self.numbers()?,
            tests: Tests {
                goal: self.one_of("goal", [("loss", Goal::Loss), ("bleu", Goal::Bleu)])?,
                test_steps: self.optional("test_steps", COUNT)?,
                bleu_pairs: self.get("bleu_pairs", COUNT)?,
                save_minutes: self.get("save_minutes", NUMBER)?,
                keep: self.get("keep", COUNT)?,
            },
            command: self.get("command", TEXT)?,
            ..Options::new(pairs, self.get("out", PATH)?)
        })
    }

    fn attention(&self) -> PyResult<Option<SelfAttentionChoice>> {
        let given: Option<String> = self.optional("attention", TEXT)?;
        let choice = given.map(|text| text.parse()).transpose();
        choice.map_err(|error: SelfAttentionError| wrong_value(format!("attention: {error}")))
    }

    fn numbers(&self) -> PyResult<Numbers> {
        Ok(Numbers {
            batch_tokens: self.optional("batch_tokens", COUNT)?,
            accumulate: self.optional("accumulate", COUNT)?,
            learning_rate: self.optional("learning_rate", NUMBER)?,
            warmup: self.optional("warmup", COUNT)?,
            cooldown: self.get("cooldown", NUMBER)?,
            dropout: self.optional("dropout", NUMBER)?,
            label_smoothing: self.get("label_smoothing", NUMBER)?,
            weight_decay: self.get("weight_decay", NUMBER)?,
            max_norm: self.get("max_norm", NUMBER)?,
            products: self.one_of("precision", [("f32", Products::F32), ("bf16", Products::Bf16)])?,
            seed: self.get("seed", COUNT)?,
        })
    }

    fn one_of<T>(&self, name: &str, choices: [(&str, T); 2]) -> PyResult<T> {
        let wanted = choices.each_ref().map(|(choice, _)| format!("{choice:?}")).join(" or ");
        let given: String = self.get(name, &wanted)?;
        let found = choices.into_iter().find(|(choice, _)| *choice == given);
        found
            .map(|(_, value)| value)
            .ok_or_else(|| wrong_value(format!("{name} is {given:?}; it must be {wanted}")))
    }
}
