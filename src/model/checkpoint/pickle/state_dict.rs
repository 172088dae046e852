//! The tensors of a state dict: names, and views of storages whose places are known.

use std::collections::BTreeMap;

use super::invalid;
use super::value::{Object, Pickle, Storage, Value, View};
use crate::model::checkpoint::tensor::TensorInfo;
use crate::model::error::ModelError;
use crate::model::files::ByteSource;

/// All tensors together can be this much larger than their file, because tensors can share storages: tied weights count once
/// for each name.
const SHARING_LIMIT: u64 = 8;
/// Bytes beyond that which every file may have.
const ALWAYS_ALLOWED: u64 = 1 << 20;

/// Lists the tensors of a state dict. `place` gives the first byte of a storage in the file.
pub fn tensors(
    file: &ByteSource,
    shard: usize,
    pickle: &Pickle,
    mut place: impl FnMut(&Storage) -> Result<u64, ModelError>,
) -> Result<Vec<(String, TensorInfo)>, ModelError> {
    let mut allowed = file.len().saturating_mul(SHARING_LIMIT).saturating_add(ALWAYS_ALLOWED);
    let mut tensors = Vec::new();
    for (name, view) in views(file, pickle)? {
        let View { storage, offset, shape, strides, .. } = view;
        let dtype = view.dtype;
        let width = dtype.bitsize() as u64 / 8;
        let bytes = (shape.iter().product::<usize>() as u64).saturating_mul(width);
        let Some(rest) = allowed.checked_sub(bytes) else {
            let problem = format!(
                "its tensors are more than {SHARING_LIMIT} times as large as the file (the tensor {name:?} is {dtype} {shape:?})"
            );
            return Err(invalid(file, problem));
        };
        allowed = rest;
        let mut info = TensorInfo::new(dtype, shape.clone(), shard, place(storage)? + offset * width);
        info.strides = Some(strides).filter(|strides| !is_row_major(shape, strides)).cloned();
        tensors.push((name.to_owned(), info));
    }
    Ok(tensors)
}

/// The tensors by name.
fn views<'p>(file: &ByteSource, pickle: &'p Pickle) -> Result<BTreeMap<&'p str, &'p View>, ModelError> {
    let pairs = match pickle.object(pickle.root) {
        Some(Object::Dict(pairs)) => pairs,
        Some(Object::Tensor(_)) => {
            return Err(invalid(file, "it holds one tensor without a name, not a state dict"));
        }
        _ => {
            let problem = format!("it holds {}, not a state dict of tensors", pickle.kind(pickle.root));
            return Err(invalid(file, problem));
        }
    };
    let mut views = BTreeMap::new();
    for &(key, value) in pairs {
        let name = match key {
            Value::Text(span) => pickle.text(span),
            _ => None,
        };
        let Some(name) = name else {
            return Err(invalid(file, "a name of its state dict is not a text"));
        };
        match pickle.object(value) {
            Some(Object::Tensor(view)) => {
                views.insert(name, &**view);
            }
            Some(Object::Dict(_)) => {
                return Err(invalid(
                    file,
                    format!(
                        "its entry {name:?} is a dictionary, as in a training checkpoint; save the state dict alone: \
                 torch.save(torch.load(FILE)[{name:?}], FILE)"
                    ),
                ));
            }
            _ => {
                let problem = format!("its entry {name:?} is {}, not a tensor", pickle.kind(value));
                return Err(invalid(file, problem));
            }
        }
    }
    Ok(views)
}

/// Whether elements follow one another without gaps, the last axis fastest.
fn is_row_major(shape: &[usize], strides: &[usize]) -> bool {
    if shape.contains(&0) {
        return true;
    }
    let mut expected = 1;
    shape.iter().zip(strides).rev().all(|(&size, &stride)| {
        let fits = size == 1 || stride == expected;
        expected *= size;
        fits
    })
}
