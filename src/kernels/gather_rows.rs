//! Copies rows by number.

use super::{Access, Dispatch, Kernel, fold, stride};

/// Four elements per invocation.
pub static GATHER_ROWS: Kernel = Kernel {
    name: "gather_rows",
    wgsl: wgsl!("gather_rows" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Read, Access::Write],
    params: GatherRowsParams::FIELDS,
};

params! {
    /// Group 1.
    pub struct GatherRowsParams {
        /// Copied rows.
        pub rows: u32,
        /// Quads of a row, with padding.
        pub quads: u32,
        /// Rows of the first value.
        pub first_rows: u32,
        /// Rows of the second value.
        pub second_rows: u32,
    }
}

/// Copies `rows` rows of `width` elements.
///
/// * `of`: rows of each of the two values
/// * storage: the first value, the second, numbers u32 `[rows]` (a row of the first value, or, from its rows on, of the
///   second), output `[rows, width]`
pub fn dispatch(rows: usize, width: usize, of: [usize; 2]) -> Dispatch {
    let quads = stride(width) / 4;
    let [first_rows, second_rows] = of.map(|rows| rows as u32);
    let params = GatherRowsParams { rows: rows as u32, quads: quads as u32, first_rows, second_rows };
    Dispatch::new(&GATHER_ROWS, Vec::new(), &params, fold(rows * quads, 64))
}
