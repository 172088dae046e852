//! Tapped tensors of a sentence: numbers inside the model that a trace keeps by name.

use std::borrow::Cow;
use std::collections::BTreeSet;

use safetensors::tensor::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};

use super::Trace;
use crate::graph::{UnknownTap, tap_matches};
use crate::transformer::Tensor;

/// Axes of a tapped tensor at most: heads, queries, keys, and one more.
const MOST_AXES: usize = 4;
/// Bytes of the longest name.
const LONGEST_NAME: usize = 200;

/// A tapped tensor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TracedTap {
    /// Name of the [tap](crate::transformer::taps), `encoder.0.self.scores` for example.
    pub name: String,
    /// Sizes, without the batch.
    pub shape: Vec<usize>,
    /// Row-major elements. Minus infinity is the score of a hidden key.
    pub values: Vec<f32>,
}

/// A tapped tensor in JSON, or in the metadata of safetensors.
#[derive(Serialize, Deserialize)]
pub(super) struct TapJson<'a> {
    name: Cow<'a, str>,
    shape: Cow<'a, [usize]>,
    /// `null` is minus infinity, which JSON does not have; not in safetensors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    values: Option<Vec<Option<f32>>>,
}

impl TracedTap {
    /// The tensor of one sentence.
    pub(super) fn new(name: String, Tensor { shape, data }: Tensor) -> Self {
        // a vector of weights has no batch
        let shape = match &shape[..] {
            [1, rest @ ..] if !rest.is_empty() => rest.to_vec(),
            _ => shape,
        };
        Self { name, shape, values: data }
    }

    /// Name of the tensor in safetensors.
    pub(super) fn tensor_name(sentence: usize, name: &str) -> String {
        format!("{sentence}.tap.{name}")
    }

    /// Whether a file can hold the values: finite ones and minus infinity.
    pub(super) fn is_storable(&self) -> bool {
        self.values.iter().all(|value| is_storable(*value))
    }

    pub(super) fn json(&self, with_values: bool) -> TapJson<'_> {
        let value = |value: &f32| value.is_finite().then_some(*value);
        TapJson {
            name: (&self.name).into(),
            shape: (&self.shape).into(),
            values: with_values.then(|| self.values.iter().map(value).collect()),
        }
    }
}

impl Trace {
    /// Keeps only the taps whose names match one of `patterns`, in which `*` stands for any characters.
    ///
    /// # Errors
    /// [`UnknownTap`] with the first pattern that no tap of any sentence matches; nothing has then changed.
    pub fn keep_taps(&mut self, patterns: &[String]) -> Result<(), UnknownTap> {
        let mut offered: Vec<String> = Vec::new();
        for tap in self.sentences.iter().flat_map(|sentence| &sentence.taps) {
            if !offered.contains(&tap.name) {
                offered.push(tap.name.clone());
            }
        }
        if let Some(name) =
            patterns.iter().find(|pattern| !offered.iter().any(|name| tap_matches(pattern, name)))
        {
            return Err(UnknownTap { name: name.clone(), offered });
        }
        for sentence in &mut self.sentences {
            sentence.taps.retain(|tap| patterns.iter().any(|pattern| tap_matches(pattern, &tap.name)));
        }
        Ok(())
    }
}

fn is_storable(value: f32) -> bool {
    value.is_finite() || value == f32::NEG_INFINITY
}

/// Reads the taps of a sentence. `tensors`: those of a safetensors file, which has the values.
pub(super) fn read(
    sentence: usize,
    taps: Vec<TapJson<'_>>,
    tensors: Option<&SafeTensors<'_>>,
) -> Result<Vec<TracedTap>, String> {
    let mut known = BTreeSet::new();
    let mut read = Vec::new();
    for TapJson { name, shape, values } in taps {
        if name.is_empty() || name.len() > LONGEST_NAME || !known.insert(name.to_string()) {
            let name: String = name.chars().take(40).collect();
            return Err(format!(
                "the tap {name:?} is there twice, has no name, or a name beyond {LONGEST_NAME} bytes"
            ));
        }
        let values = match (tensors, values) {
            (None, Some(values)) => {
                values.into_iter().map(|value| value.unwrap_or(f32::NEG_INFINITY)).collect()
            }
            (None, None) => return Err(format!("the tap {name:?} has no values")),
            (Some(tensors), _) => stored(tensors, &TracedTap::tensor_name(sentence, &name), &shape)?,
        };
        let elements = shape.iter().try_fold(1usize, |product, size| product.checked_mul(*size));
        if !(1..=MOST_AXES).contains(&shape.len()) || elements != Some(values.len()) || values.is_empty() {
            return Err(format!("the tap {name:?} is {shape:?} with {} values", values.len()));
        }
        if let Some(value) = values.iter().find(|value| !is_storable(**value)) {
            return Err(format!(
                "the tap {name:?} has the value {value}; use finite ones, or minus infinity"
            ));
        }
        read.push(TracedTap { name: name.into_owned(), shape: shape.into_owned(), values });
    }
    Ok(read)
}

fn stored(tensors: &SafeTensors<'_>, name: &str, shape: &[usize]) -> Result<Vec<f32>, String> {
    let tensor = tensors.tensor(name).map_err(|_| format!("has no tensor {name}"))?;
    if tensor.dtype() != Dtype::F32 || tensor.shape() != shape {
        let (dtype, got) = (tensor.dtype(), tensor.shape());
        return Err(format!("{name} is {dtype:?} {got:?}, but its metadata says F32 {shape:?}"));
    }
    Ok(tensor.data().as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect())
}
