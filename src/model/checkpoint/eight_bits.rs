//! Matrices in 8 bits, as `docs/weights.md` describes them: whole numbers, and a scale for each row or column.

use std::collections::BTreeMap;

use safetensors::Dtype;

use super::TensorInfo;

/// The metadata that says that a file's I8 tensors are matrices in 8 bits.
const FORMAT: (&str, &str) = ("format", "wordloom-q8");
const VERSION: (&str, &str) = ("version", "1");

/// The scales of a matrix in 8 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scales {
    /// A scale belongs to a column; otherwise to a row.
    pub by_column: bool,
    /// The first scale in the shard's file, in bytes.
    pub offset: u64,
}

/// The metadata of a file with matrices in 8 bits.
pub(in crate::model) fn metadata() -> BTreeMap<String, String> {
    [FORMAT, VERSION].map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

/// The name of a matrix's scales.
pub(in crate::model) fn scales_name(matrix: &str) -> String {
    format!("{matrix}.scale")
}

/// Joins matrices in 8 bits with their scales, which are no tensors of their own then. Files of other formats stay as
/// they are.
///
/// # Errors
/// What is wrong, in words.
pub(super) fn join(
    metadata: &BTreeMap<String, String>,
    tensors: Vec<(String, TensorInfo)>,
) -> Result<Vec<(String, TensorInfo)>, String> {
    if metadata.get(FORMAT.0).map(String::as_str) != Some(FORMAT.1) {
        return Ok(tensors);
    }
    match metadata.get(VERSION.0) {
        Some(version) if version == VERSION.1 => {}
        version => {
            return Err(format!("its 8-bit format has the version {version:?}; {:?} is known", VERSION.1));
        }
    }
    let mut tensors: BTreeMap<String, TensorInfo> = tensors.into_iter().collect();
    let matrices: Vec<String> =
        tensors.iter().filter(|(_, info)| info.dtype == Dtype::I8).map(|(name, _)| name.clone()).collect();
    for name in matrices {
        let scale = tensors.remove(&scales_name(&name));
        let scale = scale.ok_or_else(|| format!("the tensor {name:?} is in 8 bits, but has no scales"))?;
        let Some(info) = tensors.get_mut(&name) else { unreachable!("it was listed") };
        let by_column = match (&info.shape[..], &scale.shape[..]) {
            _ if scale.dtype != Dtype::F32 => None,
            (&[rows, _], &[scales, 1]) if scales == rows => Some(false),
            (&[_, columns], &[1, scales]) if scales == columns => Some(true),
            _ => None,
        };
        let Some(by_column) = by_column else {
            let TensorInfo { dtype, shape, .. } = scale;
            return Err(format!("the scales of {name:?}, {:?}, are {dtype} {shape:?}", info.shape));
        };
        info.scales = Some(Scales { by_column, offset: scale.offset });
    }
    Ok(tensors.into_iter().collect())
}
