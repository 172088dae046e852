//! Safetensors files: `u64` header length, JSON header, data. The header is checked against every rule of the format.
//!
//! The `safetensors` crate has the format's types; its reader needs the whole file in memory and does not name the wrong
//! tensor.

use std::collections::BTreeMap;

use safetensors::Dtype;
use safetensors::tensor::TensorInfo as Entry;
use serde::{Deserialize, Serialize};

use super::eight_bits;
use super::reader::{FileNames, Found};
use super::tensor::TensorInfo;
use crate::json_problem::json_problem;
use crate::model::error::ModelError;
use crate::model::files::{ByteSource, ModelFiles};
use crate::model::json::excerpt;
use crate::sorting;

pub(super) const NAMES: FileNames = FileNames {
    format: "safetensors",
    single: "model.safetensors",
    index: "model.safetensors.index.json",
    read,
};

/// The format's limit of the header, bytes.
const HEADER_LIMIT: u64 = 100_000_000;
const METADATA: &str = "__metadata__";

#[derive(Deserialize, Serialize)]
pub(in crate::model) struct Header {
    /// Free text; only [`eight_bits`] reads it.
    #[serde(rename = "__metadata__")]
    pub metadata: Option<BTreeMap<String, String>>,
    /// Tensors by name.
    #[serde(flatten)]
    pub tensors: BTreeMap<String, Entry>,
}

pub(super) fn open(files: &ModelFiles) -> Result<Option<Found>, ModelError> {
    NAMES.open(files)
}

/// Reads the tensors of a file, in the order of their data.
///
/// Returns [`ModelError::InvalidCheckpoint`] unless the header is a valid JSON object inside the file, the tensors have
/// the lengths of their types and shapes and fill the data without gaps or overlaps, and 8-bit matrices have scales.
fn read(file: &ByteSource, shard: usize) -> Result<Vec<(String, TensorInfo)>, ModelError> {
    let invalid = |problem: String| ModelError::InvalidCheckpoint { file: file.label().to_owned(), problem };

    const PREFIX: u64 = size_of::<u64>() as u64;
    let Some(after_prefix) = file.len().checked_sub(PREFIX) else {
        return Err(invalid(format!("it is {} bytes long, too short for a header", file.len())));
    };
    let mut prefix = [0; size_of::<u64>()];
    file.read_at(0, &mut prefix)?;
    let header_len = u64::from_le_bytes(prefix);
    if header_len > after_prefix.min(HEADER_LIMIT) {
        return Err(invalid(format!(
            "its header claims {header_len} bytes, in a file of {} (it may be incomplete)",
            file.len()
        )));
    }
    let mut header = vec![0; header_len as usize];
    file.read_at(PREFIX, &mut header)?;
    let header: Header =
        serde_json::from_slice(&header).map_err(|error| invalid(in_plain_words(&header, &error)))?;

    let mut tensors: Vec<_> = header.tensors.into_iter().collect();
    sorting::sort_by_key(&mut tensors, |(_, entry)| entry.data_offsets);
    let data_start = PREFIX + header_len;
    let data_len = after_prefix - header_len;
    let mut end = 0;
    let mut checked = Vec::with_capacity(tensors.len());
    for (name, Entry { dtype, shape, data_offsets: (from, to) }) in tensors {
        if from != end {
            let problem = if from < end { "overlap" } else { "leave a gap after" };
            return Err(invalid(format!(
                "the tensor {name:?} is at bytes {from} to {to}, which {problem} the one before, up to {end}"
            )));
        }
        if to as u64 > data_len {
            return Err(invalid(format!(
                "the tensor {name:?} ends at byte {to} of {data_len}; the file may be incomplete"
            )));
        }
        let length = to.checked_sub(from);
        if length.is_none() || length != byte_len(&shape, dtype.bitsize()) {
            return Err(invalid(format!(
                "the tensor {name:?} is at bytes {from} to {to}, which is not the size of {dtype} {shape:?}"
            )));
        }
        end = to;
        checked.push((name, TensorInfo::new(dtype, shape, shard, data_start + from as u64)));
    }
    if end as u64 != data_len {
        return Err(invalid(format!("{} bytes follow its last tensor", data_len - end as u64)));
    }
    eight_bits::join(&header.metadata.unwrap_or_default(), checked).map_err(invalid)
}

/// Bytes of a tensor; `None` if the number overflows or is not whole.
fn byte_len(shape: &[usize], element_bits: usize) -> Option<usize> {
    let elements = shape.iter().try_fold(1usize, |product, &size| product.checked_mul(size))?;
    let bits = elements.checked_mul(element_bits)?;
    bits.is_multiple_of(8).then_some(bits / 8)
}

/// The problem of a header that could not be parsed. The parser names Rust's types, so the entry is looked for.
fn in_plain_words(header: &[u8], error: &serde_json::Error) -> String {
    /// Longest header that is parsed again, bytes.
    const LONGEST: usize = 8 << 20;
    if !error.is_data() || header.len() > LONGEST {
        let place = if error.is_data() { "an entry is wrong".to_owned() } else { json_problem(error) };
        return format!("its header cannot be read: {place}");
    }
    let Ok(serde_json::Value::Object(entries)) = serde_json::from_slice(header) else {
        return "its header cannot be read: it is JSON, but not an object".to_owned();
    };
    let problem = entries.iter().find_map(|(name, entry)| match name.as_str() {
        METADATA => BTreeMap::<String, String>::deserialize(entry)
            .err()
            .map(|_| format!("{METADATA:?} is not an object of texts")),
        name => Some(format!("the tensor {name:?} {}", wrong_entry(entry)?)),
    });
    format!("its header cannot be read: {}", problem.unwrap_or_else(|| "a name is there twice".to_owned()))
}

/// What is wrong with the entry of a tensor.
fn wrong_entry(entry: &serde_json::Value) -> Option<String> {
    let serde_json::Value::Object(parts) = entry else {
        return Some("is described by something else than an object".to_owned());
    };
    let is_wrong = |key: &str, value| match key {
        "dtype" => Dtype::deserialize(value).is_err(),
        "shape" => Vec::<usize>::deserialize(value).is_err(),
        _ => <(usize, usize)>::deserialize(value).is_err(),
    };
    [("dtype", "a type of elements"), ("shape", "a list of sizes"), ("data_offsets", "two positions")]
        .into_iter()
        .find_map(|(key, expected)| match parts.get(key) {
            None => Some(format!("has no {key:?}")),
            Some(value) if is_wrong(key, value) => {
                Some(format!("has the {key:?} {}; expected {expected}", excerpt(value)))
            }
            Some(_) => None,
        })
}
