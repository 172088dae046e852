//! The place of a tensor in the files of a checkpoint.

use safetensors::Dtype;

use super::eight_bits::Scales;

/// Properties of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    /// Type of the elements.
    pub dtype: Dtype,
    /// Sizes, the slowest-varying first.
    pub shape: Vec<usize>,
    /// Index of the file in [`Found::files`](super::reader::Found::files).
    pub(super) shard: usize,
    /// Offset of the first element in the file, bytes.
    pub(super) offset: u64,
    /// Elements from one index of each axis to the next; `None` for row-major order without gaps.
    pub(super) strides: Option<Vec<usize>>,
    pub(super) scales: Option<Scales>,
}

impl TensorInfo {
    /// A tensor in row-major order without gaps.
    pub(super) fn new(dtype: Dtype, shape: Vec<usize>, shard: usize, offset: u64) -> Self {
        Self { dtype, shape, shard, offset, strides: None, scales: None }
    }

    /// Number of elements; a reader's check excludes overflow.
    pub fn element_count(&self) -> usize {
        self.shape.iter().product()
    }

    /// Bytes per element, for the types that can be read as f32.
    pub(super) fn element_bytes(&self) -> Option<usize> {
        match self.dtype {
            Dtype::I8 => self.scales.map(|_| 1),
            Dtype::F16 | Dtype::BF16 => Some(2),
            Dtype::F32 => Some(4),
            Dtype::F64 => Some(8),
            _ => None,
        }
    }

    /// Whether it is an 8-bit matrix with a scale for each row, or each column.
    pub fn is_in_8_bits(&self, by_column: bool) -> bool {
        self.scales.is_some_and(|scales| scales.serve(by_column))
    }

    /// End of the last byte in the file, scales included.
    pub(super) fn end(&self) -> u64 {
        let end = |offset, elements, width| offset + (elements * width) as u64;
        let span = match &self.strides {
            None => self.element_count(),
            Some(_) if self.shape.contains(&0) => 0,
            Some(strides) => {
                1 + self.shape.iter().zip(strides).map(|(size, stride)| (size - 1) * stride).sum::<usize>()
            }
        };
        let values = end(self.offset, span, self.element_bytes().unwrap_or(0));
        let scales = self.scales.map(|scales| end(scales.offset, scales.count(&self.shape), 4));
        values.max(scales.unwrap_or(0))
    }
}
