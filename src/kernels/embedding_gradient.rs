//! The gradient of an embedding's table: the rows of dy, summed by the row of the table that each one looked up.

use std::ops::Range;

use super::{Access, Dispatch, Kernel, PANEL, fold};

/// One workgroup per pair of the list.
pub static EMBEDDING_GRADIENT: Kernel = Kernel {
    name: "embedding_gradient",
    wgsl: wgsl!("embedding_gradient" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Read, Access::Write],
    params: EmbeddingGradientParams::FIELDS,
};

params! {
    /// Group 1.
    pub struct EmbeddingGradientParams {
        /// Rows of dy.
        pub rows: u32,
        /// Elements per row, without padding.
        pub width: u32,
        /// Pairs of the list.
        pub segments: u32,
        /// First row of the table in this part.
        pub first_row: u32,
        /// Rows of this part.
        pub part_rows: u32,
        /// Factor of the sums.
        pub scale: f32,
    }
}

/// Layout of a table on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableLayout {
    /// The f32 panels of a weight matrix.
    Panels,
    /// Rows with the stride of activations.
    Rows,
}

/// Row of a table that ends the list of pairs.
pub const END_OF_SEGMENTS: u32 = u32::MAX;

/// Shape of an embedding's gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EmbeddingGradientShape {
    /// Rows of dy.
    pub rows: usize,
    /// Elements per embedding.
    pub width: usize,
    /// Maximum pairs of the list.
    pub segments: usize,
    /// Factor of the embeddings: √d_model, or 1.
    pub scale: f32,
    /// Layout of the table.
    pub layout: TableLayout,
}

/// Adds the gradients of the rows `part` of the table. In panels, the part starts at a multiple of [`PANEL`]. Rows of the
/// table outside the part, and rows of dy that do not exist, are left out.
///
/// * storage: dy `[rows, width]`, order u32 `[rows]` (rows of dy, sorted by their row of the table), segments u32
///   `[segments, 2]`, table gradient (panels or rows of `part`)
/// * a pair of segments is a row of the table, each at most once, and the first index of its rows in `order`. They end at
///   the first index of the next pair, or after the last pair at `rows`. The pair of [`END_OF_SEGMENTS`] ends the list;
///   pairs after it can hold anything.
pub fn dispatch(shape: &EmbeddingGradientShape, part: Range<usize>) -> Dispatch {
    let panels = shape.layout == TableLayout::Panels;
    assert!(!panels || part.start.is_multiple_of(PANEL), "rows {part:?} of a table in panels");
    let params = EmbeddingGradientParams {
        rows: shape.rows as u32,
        width: shape.width as u32,
        segments: shape.segments as u32,
        first_row: part.start as u32,
        part_rows: part.len() as u32,
        scale: shape.scale,
    };
    let constants = vec![("PANELS", f64::from(panels))];
    Dispatch::new(&EMBEDDING_GRADIENT, constants, &params, fold(shape.segments, 1))
}
