//! Some outputs of a linear layer, a list for each sentence: an output layer over a shortlist.

use std::ops::Range;

use super::{Access, AdapterClass, ByPrecision, Dispatch, PANEL, fold, stride};
use crate::precision::WeightPrecision;

/// One output per sixteen lanes, or per lane on software adapters.
pub static SELECTED_LINEAR: ByPrecision = by_precision!(
    "",
    "selected_linear" + "masked" + "grid",
    &[Access::Read, Access::Read, Access::Read, Access::Read, Access::Write],
    SelectedLinearParams::FIELDS
);

params! {
    /// Group 1 of `selected_linear.wgsl`. A *quad* is four neighbouring elements.
    pub struct SelectedLinearParams {
        /// Rows of x and y.
        pub rows: u32,
        /// Rows of a sentence.
        pub beams: u32,
        /// Quads in a row of x.
        pub input_quads: u32,
        /// Columns of a sentence.
        pub columns: u32,
        /// Row stride of y, elements.
        pub y_stride: u32,
        /// First output of this part of the weights.
        pub first_output: u32,
        /// Outputs of this part.
        pub part_outputs: u32,
        /// Factor of the product.
        pub scale: f32,
        /// Whether there is a bias.
        pub has_bias: u32,
    }
}

/// Shape and switches of the layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SelectedShape {
    /// Rows of x and y.
    pub rows: usize,
    /// Rows of a sentence.
    pub beams: usize,
    /// Input features.
    pub inputs: usize,
    /// Columns of a sentence.
    pub columns: usize,
    /// Factor of the product.
    pub scale: f32,
    /// Whether there is a bias.
    pub bias: bool,
    /// Storage of the weights.
    pub precision: WeightPrecision,
}

const LANES: usize = 64;

/// Computes the columns whose output is in `part`, which starts at a multiple of [`PANEL`]. The first part also writes
/// the places without a column.
///
/// * storage: x `[rows, inputs]`, weight (panels of `part`), bias `[outputs]`, columns u32 `[rows / beams, columns]`
///   (outputs in ascending order, then [`NO_TOKEN`](crate::scores::NO_TOKEN)), y `[rows, columns]`
pub fn dispatch(shape: &SelectedShape, part: Range<usize>, class: AdapterClass) -> Dispatch {
    assert!(part.start.is_multiple_of(PANEL), "outputs {part:?} of a matrix in panels");
    let params = SelectedLinearParams {
        rows: shape.rows as u32,
        beams: shape.beams as u32,
        input_quads: (stride(shape.inputs) / 4) as u32,
        columns: shape.columns as u32,
        y_stride: stride(shape.columns) as u32,
        first_output: part.start as u32,
        part_outputs: part.len() as u32,
        scale: shape.scale,
        has_bias: shape.bias.into(),
    };
    let slices = if class.is_software() { 1 } else { 16 };
    let groups = stride(shape.columns).div_ceil(LANES / slices);
    let constants = vec![("SLICES", slices as f64)];
    let kernel = SELECTED_LINEAR.of(shape.precision);
    Dispatch::new(kernel, constants, &params, fold(shape.rows * groups, 1))
}
