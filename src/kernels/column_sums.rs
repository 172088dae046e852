//! `sums[column] += Σ over the rows of x`: the gradients of biases, and of a layer norm's β.

use super::{Access, Dispatch, Kernel, fold, stride};

/// Four quads of columns per workgroup.
pub static COLUMN_SUMS: Kernel = Kernel {
    name: "column_sums",
    wgsl: wgsl!("column_sums" + "reduce_rows" + "grid"),
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
    }
}

/// Workgroups that sum the columns of a value, as `shared/reduce_rows.wgsl` shares them out.
pub(super) fn workgroups(width: usize) -> [u32; 3] {
    fold(stride(width) / 4, 4)
}

/// Adds the sums of the columns of x `[rows, width]`.
///
/// * storage: x `[rows, width]`, sums `[width]`
pub fn dispatch(rows: usize, width: usize) -> Dispatch {
    let params = ColumnSumsParams { rows: rows as u32, width: width as u32 };
    Dispatch::new(&COLUMN_SUMS, Vec::new(), &params, workgroups(width))
}
