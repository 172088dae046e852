//! A JSON object that is read key by key, so that errors name the key.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeOwned, Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::error::ModelError;
use super::files::ModelFiles;
use crate::json_problem;

/// Maximum length of a JSON file, bytes. The largest real ones, tensor indices, are below 1 MiB.
const JSON_LIMIT: u64 = 8 << 20;

/// A JSON object and the name of its file or request. `null` counts as absent, because Hugging Face writes it for "not
/// set".
#[derive(Clone, Debug)]
pub struct JsonObject {
    file: String,
    values: Map<String, Value>,
}

/// A type that a configuration's value can have.
pub trait JsonValue: DeserializeOwned {
    /// A description of valid values.
    const EXPECTED: &'static str;
}

impl JsonValue for bool {
    const EXPECTED: &'static str = "true or false";
}
impl JsonValue for u32 {
    const EXPECTED: &'static str = "a whole number below 2^32";
}
impl JsonValue for usize {
    const EXPECTED: &'static str = "a whole number, not negative";
}
impl JsonValue for u64 {
    const EXPECTED: &'static str = "a whole number, not negative";
}
impl JsonValue for f32 {
    const EXPECTED: &'static str = "a number";
}
impl JsonValue for f64 {
    const EXPECTED: &'static str = "a number";
}
impl JsonValue for String {
    const EXPECTED: &'static str = "a string";
}
impl JsonValue for Vec<u32> {
    const EXPECTED: &'static str = "a list of token ids";
}
impl JsonValue for Vec<usize> {
    const EXPECTED: &'static str = "a list of whole numbers";
}
impl JsonValue for Value {
    const EXPECTED: &'static str = "a value";
}
impl JsonValue for Vec<i64> {
    const EXPECTED: &'static str = "a list of token ids, and -100 for none";
}
impl JsonValue for Vec<Vec<u32>> {
    const EXPECTED: &'static str = "a list of lists of token ids";
}

impl JsonValue for BTreeMap<String, String> {
    const EXPECTED: &'static str = "an object of strings";
}

impl JsonObject {
    /// Parses a file of the model. Errors: those of [`ModelFiles::read`], and [`ModelError::Json`].
    pub fn read(files: &ModelFiles, name: &str) -> Result<Self, ModelError> {
        let bytes = files.read(name, JSON_LIMIT)?;
        Self::parse(files.file_label(name), &bytes)
    }

    /// Parses a JSON object; `file` is its name in messages. Returns [`ModelError::Json`] with line and column.
    pub fn parse(file: impl Into<String>, bytes: &[u8]) -> Result<Self, ModelError> {
        let file = file.into();
        match serde_json::from_slice(bytes) {
            Ok(values) => Ok(Self { file, values }),
            Err(source) => Err(ModelError::Json { file, source }),
        }
    }

    /// As [`JsonObject::parse`], for a request: a key that occurs twice is an error, because it is a mistake. In files
    /// the last one counts, as in Python.
    pub fn parse_request(place: impl Into<String>, bytes: &[u8]) -> Result<Self, ModelError> {
        let file = place.into();
        match serde_json::from_slice(bytes) {
            Ok(Distinct(values)) => Ok(Self { file, values }),
            Err(source) => Err(ModelError::Json { file, source }),
        }
    }

    /// An object that is part of another one; `file` is its name in messages.
    pub fn of_values(file: impl Into<String>, values: Map<String, Value>) -> Self {
        Self { file: file.into(), values }
    }

    /// The file's name in messages.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Whether `key` is present, even as `null`.
    pub fn contains(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    /// The value of `key`; `None` if it is absent or `null`. Returns [`ModelError::InvalidValue`] if it is not a `T`.
    pub fn get<T: JsonValue>(&self, key: &'static str) -> Result<Option<T>, ModelError> {
        match self.values.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match T::deserialize(value) {
                Ok(parsed) => Ok(Some(parsed)),
                Err(_) => Err(self.invalid(key, value, T::EXPECTED)),
            },
        }
    }

    /// As [`JsonObject::get`], with `default` for an absent key.
    pub fn get_or<T: JsonValue>(&self, key: &'static str, default: T) -> Result<T, ModelError> {
        Ok(self.get(key)?.unwrap_or(default))
    }

    /// As [`JsonObject::get`]; returns [`ModelError::MissingKey`] if it is absent.
    pub fn require<T: JsonValue>(&self, key: &'static str) -> Result<T, ModelError> {
        self.get(key)?.ok_or_else(|| ModelError::MissingKey { file: self.file.clone(), key })
    }

    /// As [`JsonObject::require`]; removes the key.
    pub fn take<T: JsonValue>(&mut self, key: &'static str) -> Result<T, ModelError> {
        let value = self.require(key)?;
        self.values.remove(key);
        Ok(value)
    }

    /// As [`JsonObject::get`]; removes the key.
    pub fn take_if_set<T: JsonValue>(&mut self, key: &'static str) -> Result<Option<T>, ModelError> {
        let value = self.get(key)?;
        self.values.remove(key);
        Ok(value)
    }

    /// The same without negative numbers, also in lists, of these keys.
    pub(crate) fn without_negative(mut self, keys: &[&str]) -> Self {
        let is_negative = |value: &Value| value.as_i64().is_some_and(|number| number < 0);
        for key in keys {
            if let Some(Value::Array(items)) = self.values.get_mut(*key) {
                items.retain(|item| !is_negative(item));
            }
            if self.values.get(*key).is_some_and(is_negative) {
                self.values.remove(*key);
            }
        }
        self
    }

    /// The same with the values of other names under their own.
    pub(crate) fn renamed(mut self, aliases: &[(&str, &str)]) -> Self {
        for (alias, name) in aliases {
            if let Some(value) = self.values.get(*alias).filter(|value| !value.is_null()).cloned() {
                self.values.insert((*name).to_owned(), value);
            }
        }
        self
    }

    /// The keys whose value is `null`.
    pub fn nulls(&self) -> Vec<&str> {
        self.entries().filter(|(_, value)| value.is_null()).map(|(key, _)| key).collect()
    }

    /// All values, by key.
    pub(crate) fn into_values(self) -> Map<String, Value> {
        self.values
    }

    /// Every key with its value.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.values.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The error for an invalid value.
    pub fn invalid(&self, key: &'static str, value: &Value, expected: impl Into<String>) -> ModelError {
        ModelError::InvalidValue {
            file: self.file.clone(),
            key,
            value: excerpt(value),
            expected: expected.into(),
        }
    }

    /// The error for a valid value that Wordloom does not support.
    pub fn unsupported(&self, key: &str, value: &Value, supported: impl Into<String>) -> ModelError {
        let (file, key) = (self.file.clone(), key.to_owned());
        ModelError::Unsupported { file, key, value: excerpt(value), supported: supported.into() }
    }
}

/// An object whose keys are distinct.
struct Distinct(Map<String, Value>);

impl<'de> Deserialize<'de> for Distinct {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_map(DistinctKeys)
    }
}

struct DistinctKeys;

impl<'de> Visitor<'de> for DistinctKeys {
    type Value = Distinct;

    fn expecting(&self, words: &mut fmt::Formatter) -> fmt::Result {
        words.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut json: A) -> Result<Distinct, A::Error> {
        let mut values = Map::new();
        while let Some((key, value)) = json.next_entry::<String, Value>()? {
            if values.contains_key(&key) {
                return Err(A::Error::custom(format_args!("the key {} occurs twice", excerpt(&key.into()))));
            }
            values.insert(key, value);
        }
        Ok(Distinct(values))
    }
}

/// The value as JSON on one line, cut after 60 characters.
pub(super) fn excerpt(value: &Value) -> String {
    json_problem::excerpt(&value.to_string())
}
