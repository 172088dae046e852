//! A simpler simple recurrent unit over sequences, or one step of it.

use super::{Access, Dispatch, Kernel, fold, stride};

/// One invocation per sequence and column.
pub static SSRU: Kernel = Kernel {
    name: "ssru",
    wgsl: wgsl!("ssru" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Read, Access::Read, Access::Write, Access::Write],
    params: SsruParams::FIELDS,
};

params! {
    /// Group 1 of `ssru.wgsl`. Strides in elements.
    pub struct SsruParams {
        /// Number of sequences.
        pub sequences: u32,
        /// Tokens of a sequence.
        pub length: u32,
        /// Columns of x and of the gate.
        pub width: u32,
        /// Row stride of y and of the cells.
        pub stride: u32,
        /// Row stride of the projection.
        pub projected_stride: u32,
        /// Rows of the cache.
        pub cells: u32,
        /// Cache slots of a sequence.
        pub capacity: u32,
    }
}

/// Shape of a recurrent unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SsruShape {
    /// Number of sequences.
    pub sequences: usize,
    /// Tokens of a sequence.
    pub length: usize,
    /// Columns of x, of the gate and of a cell.
    pub width: usize,
    /// Rows of the cache; 0: cells are not stored.
    pub cells: usize,
    /// Cache slots of a sequence; 0: sequences begin with zeros.
    pub capacity: usize,
}

/// Computes the unit. A sequence's new slots must be in no other sequence's history.
///
/// * storage: projection `[sequences * length, 2 * width]` (x, then the gate before its sigmoid), cache slots u32
///   `[sequences * length]` (row of the cells), slots u32 `[sequences, capacity]` (rows of the cells of each history, in
///   order), key counts u32 `[sequences]` (length of the history with this token), cells `[cells, width]`, y
///   `[sequences * length, width]`
pub fn dispatch(shape: &SsruShape) -> Dispatch {
    let &SsruShape { sequences, length, width, cells, capacity } = shape;
    let params = SsruParams {
        sequences: sequences as u32,
        length: length as u32,
        width: width as u32,
        stride: stride(width) as u32,
        projected_stride: stride(2 * width) as u32,
        cells: cells as u32,
        capacity: capacity as u32,
    };
    let constants = vec![("CONTINUES", f64::from(capacity > 0)), ("KEEPS", f64::from(cells > 0))];
    Dispatch::new(&SSRU, constants, &params, fold(sequences * stride(width), 64))
}
