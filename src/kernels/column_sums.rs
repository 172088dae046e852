//! `sums[column] += Σ over the rows of x`: the gradients of biases, and of a layer norm's β.

use super::shares::Shares;
use super::{Access, AdapterClass, Dispatch, Kernel, fold, stride};

/// Four quads of columns per workgroup.
pub static COLUMN_SUMS: Kernel = Kernel {
    name: "column_sums",
    wgsl: wgsl!("column_sums" + "row_shares" + "reduce_rows" + "grid"),
    storage: &[Access::Read, Access::Write],
    params: ColumnSumsParams::FIELDS,
};

params! {
    /// Group 1.
    pub struct ColumnSumsParams {
        /// Rows of x.
        pub rows: u32,
        /// Columns of x, without padding.
        pub width: u32,
        /// Rows that a workgroup adds up.
        pub share_rows: u32,
        /// Shares of the rows.
        pub shares: u32,
    }
}

/// How the rows are shared out for sums of columns.
pub fn row_shares(rows: usize, width: usize, class: AdapterClass) -> Shares {
    Shares::choose(rows, blocks(width), class)
}

/// Workgroups that sum the columns of a value, as `shared/reduce_rows.wgsl` shares them out.
pub(super) fn workgroups(width: usize, shares: Shares) -> [u32; 3] {
    fold(blocks(width) * shares.count, 1)
}

/// Blocks of four quads of columns.
fn blocks(width: usize) -> usize {
    (stride(width) / 4).div_ceil(4)
}

/// Adds the sums of the columns of x `[rows, width]`.
///
/// * storage: x `[rows, width]`, sums `[width]`
/// * with several shares, the last are the sums of each `[shares, width]`, and [`sum_shares`](super::sum_shares) follows
pub fn dispatch(rows: usize, width: usize, shares: Shares) -> Dispatch {
    let params = ColumnSumsParams {
        rows: rows as u32,
        width: width as u32,
        share_rows: shares.length as u32,
        shares: shares.count as u32,
    };
    Dispatch::new(&COLUMN_SUMS, Vec::new(), &params, workgroups(width, shares))
}
