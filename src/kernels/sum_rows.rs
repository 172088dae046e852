//! Sums of neighbouring rows.

use super::{Access, Dispatch, Kernel, fold, stride};

/// Four elements per invocation.
pub static SUM_ROWS: Kernel = Kernel {
    name: "sum_rows",
    wgsl: wgsl!("sum_rows" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Write],
    params: SumRowsParams::FIELDS,
};

params! {
    /// Group 1.
    pub struct SumRowsParams {
        /// Number of sums.
        pub rows: u32,
        /// Quads of a row, with padding.
        pub quads: u32,
        /// Rows of x.
        pub x_rows: u32,
    }
}

/// Computes `rows` sums of rows of `width` elements.
///
/// * storage: x `[x_rows, width]`, ranges u32 `[rows, 2]` (first row of x, and the end), sums `[rows, width]`
pub fn dispatch(rows: usize, width: usize, x_rows: usize) -> Dispatch {
    let quads = stride(width) / 4;
    let params = SumRowsParams { rows: rows as u32, quads: quads as u32, x_rows: x_rows as u32 };
    Dispatch::new(&SUM_ROWS, Vec::new(), &params, fold(rows * quads, 64))
}
