//! `y[r] = Σ x[s]` over the rows s in the bucket of row r: the gradient of rows of a table that stand for one row, as the
//! distances of T5's buckets do.

use super::{Access, Dispatch, Kernel, fold, stride};

/// One invocation per element.
pub static TIE_ROWS: Kernel = Kernel {
    name: "tie_rows",
    wgsl: wgsl!("tie_rows" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Write],
    params: TieRowsParams::FIELDS,
};

params! {
    /// Group 1.
    pub struct TieRowsParams {
        /// Rows of x and y.
        pub rows: u32,
        /// Elements per row, without padding.
        pub width: u32,
        /// Whether only the first row of a bucket gets the sum.
        pub first_only: u32,
    }
}

/// The rows of a bucket that get its sum; others get zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TiedRows {
    /// The row that the bucket is named after.
    First,
    /// Every row.
    All,
}

/// Sums the rows of each bucket into its rows.
///
/// * storage: x `[rows, width]`, buckets u32 `[rows]`: the first row of each row's bucket, y `[rows, width]`
pub fn dispatch(rows: usize, width: usize, gets: TiedRows) -> Dispatch {
    let first_only = u32::from(gets == TiedRows::First);
    let params = TieRowsParams { rows: rows as u32, width: width as u32, first_only };
    Dispatch::new(&TIE_ROWS, Vec::new(), &params, fold(rows * stride(width), 64))
}
