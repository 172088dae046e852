//! Reads blocks of tensors whose elements are not in row-major order: transposed, sliced and expanded ones.

use super::{CHUNK, widen};
use crate::model::error::ModelError;
use crate::model::files::ByteSource;
use crate::sorting;
use safetensors::Dtype;

/// Bytes are read with gaps between the wanted ones if at least one element of this many is wanted.
const SPARSEST: usize = 8;

/// One axis of a block: its length, and the elements from one index to the next in the file and in the result.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    pub count: usize,
    pub file: usize,
    pub result: usize,
}

/// The axes of a block whose result is in row-major order.
pub fn row_major(shape: &[usize], strides: &[usize]) -> Vec<Axis> {
    let mut result = shape.iter().product::<usize>();
    let axis = |(&count, &file): (&usize, &usize)| {
        result /= count.max(1);
        Axis { count, file, result }
    };
    shape.iter().zip(strides).map(axis).collect()
}

/// The elements in a file, from the block's first one on.
pub struct Elements<'a> {
    pub file: &'a ByteSource,
    pub dtype: Dtype,
    /// Bytes of an element.
    pub width: usize,
    /// First byte of the block.
    pub start: u64,
}

/// Reads a block. `values` has one place for each of its elements.
pub fn read_block(elements: &Elements<'_>, axes: &[Axis], values: &mut [f32]) -> Result<(), ModelError> {
    if axes.iter().any(|axis| axis.count == 0) {
        return Ok(());
    }
    let mut axes: Vec<Axis> = axes.iter().copied().filter(|axis| axis.count > 1).collect();
    sorting::sort_by_key(&mut axes, |axis| std::cmp::Reverse(axis.file));
    let mut reader = BlockReader { elements, bytes: Vec::new(), widened: Vec::new(), values };
    reader.read(&mut axes, 0, 0)
}

struct BlockReader<'a, 'b> {
    elements: &'a Elements<'b>,
    bytes: Vec<u8>,
    widened: Vec<f32>,
    values: &'a mut [f32],
}

impl BlockReader<'_, '_> {
    /// Reads a block at element `file` into `values[result]`: at once if it is short and dense, else in halves of its
    /// widest axis. There are at most 64 halvings, as the block's elements fit a `usize`.
    fn read(&mut self, axes: &mut [Axis], file: usize, result: usize) -> Result<(), ModelError> {
        let span = 1 + axes.iter().map(|axis| (axis.count - 1) * axis.file).sum::<usize>();
        let wanted: usize = axes.iter().map(|axis| axis.count).product();
        let is_short = span <= CHUNK / self.elements.width && span / SPARSEST <= wanted;
        let Some(widest) = axes.first_mut().filter(|_| !is_short) else {
            return self.read_span(axes, span, file, result);
        };
        let Axis { count, file: step, result: result_step } = *widest;
        if count == 1 {
            return self.read(&mut axes[1..], file, result);
        }
        // the last half first: during a download, this waits once for the whole block
        let half = count / 2;
        widest.count = count - half;
        self.read(axes, file + half * step, result + half * result_step)?;
        axes[0].count = half;
        self.read(axes, file, result)?;
        axes[0].count = count;
        Ok(())
    }

    fn read_span(
        &mut self,
        axes: &[Axis],
        span: usize,
        file: usize,
        result: usize,
    ) -> Result<(), ModelError> {
        let Elements { file: source, dtype, width, start } = self.elements;
        self.bytes.resize(span * width, 0);
        source.read_at(start + (file * width) as u64, &mut self.bytes)?;
        self.widened.resize(span, 0.0);
        widen(*dtype, &self.bytes, &mut self.widened);
        scatter(axes, &self.widened, &mut self.values[result..]);
        Ok(())
    }
}

/// Copies the elements of a block to their places.
fn scatter(axes: &[Axis], from: &[f32], to: &mut [f32]) {
    match axes {
        [] => to[0] = from[0],
        [axis] => {
            for index in 0..axis.count {
                to[index * axis.result] = from[index * axis.file];
            }
        }
        [axis, rest @ ..] => {
            for index in 0..axis.count {
                scatter(rest, &from[index * axis.file..], &mut to[index * axis.result..]);
            }
        }
    }
}
