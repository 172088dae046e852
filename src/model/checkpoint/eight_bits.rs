//! 8-bit matrices, as in `docs/weights.md`: whole numbers, and a scale per row or column.

use std::collections::BTreeMap;

use safetensors::Dtype;

use super::tensor::TensorInfo;
use crate::sorting;

/// Metadata of a file whose I8 tensors are 8-bit matrices.
const FORMAT: (&str, &str) = ("format", "wordloom-q8");
const VERSION: (&str, &str) = ("version", "1");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scales {
    /// Values that one scale belongs to.
    pub axis: ScaleAxis,
    /// Offset of the first scale in the shard's file, bytes.
    pub offset: u64,
}

/// Values of a matrix that one scale belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScaleAxis {
    /// A row.
    Row,
    /// A column.
    Column,
    /// All values: one multiplier, as Marian stores it. The scale is its reciprocal.
    Whole,
}

impl Scales {
    /// Whether rows (or columns) have a scale each, or all the same.
    pub fn serve(self, by_column: bool) -> bool {
        match self.axis {
            ScaleAxis::Row => !by_column,
            ScaleAxis::Column => by_column,
            ScaleAxis::Whole => true,
        }
    }

    /// Number of scales of a matrix.
    pub fn count(self, shape: &[usize]) -> usize {
        match self.axis {
            ScaleAxis::Row => shape[0],
            ScaleAxis::Column => shape[1],
            ScaleAxis::Whole => 1,
        }
    }
}

pub(in crate::model) fn metadata() -> BTreeMap<String, String> {
    [FORMAT, VERSION].map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

pub(in crate::model) fn scales_name(matrix: &str) -> String {
    format!("{matrix}.scale")
}

/// Joins 8-bit matrices with their scales, which then are not tensors of their own. Other formats stay unchanged. The
/// error is a message.
pub(super) fn join(
    metadata: &BTreeMap<String, String>,
    tensors: Vec<(String, TensorInfo)>,
) -> Result<Vec<(String, TensorInfo)>, String> {
    if metadata.get(FORMAT.0).map(String::as_str) != Some(FORMAT.1) {
        return Ok(tensors);
    }
    match metadata.get(VERSION.0) {
        Some(version) if version == VERSION.1 => {}
        Some(version) => {
            return Err(format!("its 8-bit format has the version {version:?}; {:?} is known", VERSION.1));
        }
        None => return Err(format!("its 8-bit format has no version; {:?} is known", VERSION.1)),
    }
    let mut tensors: BTreeMap<String, TensorInfo> = sorting::map_of(tensors);
    let matrices: Vec<String> =
        tensors.iter().filter(|(_, info)| info.dtype == Dtype::I8).map(|(name, _)| name.clone()).collect();
    for name in matrices {
        let scale = tensors.remove(&scales_name(&name));
        let scale = scale.ok_or_else(|| format!("the tensor {name:?} is in 8 bits, but has no scales"))?;
        let Some(info) = tensors.get_mut(&name) else { unreachable!("it was listed") };
        let axis = match (&info.shape[..], &scale.shape[..]) {
            _ if scale.dtype != Dtype::F32 => None,
            (&[rows, _], &[scales, 1]) if scales == rows => Some(ScaleAxis::Row),
            (&[_, columns], &[1, scales]) if scales == columns => Some(ScaleAxis::Column),
            _ => None,
        };
        let Some(axis) = axis else {
            let TensorInfo { dtype, shape, .. } = scale;
            return Err(format!("the scales of {name:?}, {:?}, are {dtype} {shape:?}", info.shape));
        };
        info.scales = Some(Scales { axis, offset: scale.offset });
    }
    Ok(tensors.into_iter().collect())
}
