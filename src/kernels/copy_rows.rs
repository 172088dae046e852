//! Copies neighbouring rows of a value to another one.

use super::{Access, Dispatch, Kernel, fold, stride};

/// Four elements per invocation.
pub static COPY_ROWS: Kernel = Kernel {
    name: "copy_rows",
    wgsl: wgsl!("copy_rows" + "grid"),
    storage: &[Access::Read, Access::Write],
    params: CopyRowsParams::FIELDS,
};

params! {
    /// Group 1.
    pub struct CopyRowsParams {
        /// Copied rows.
        pub rows: u32,
        /// Quads of a row, with padding.
        pub quads: u32,
        /// First row in the source.
        pub first: u32,
        /// First row in the destination.
        pub at: u32,
    }
}

/// Copies `rows` rows of `width` elements, from row `first` of the source to row `at` of the destination.
///
/// * storage: source `[…, width]`, destination `[…, width]`
pub fn dispatch(rows: usize, width: usize, first: usize, at: usize) -> Dispatch {
    let quads = stride(width) / 4;
    let params =
        CopyRowsParams { rows: rows as u32, quads: quads as u32, first: first as u32, at: at as u32 };
    Dispatch::new(&COPY_ROWS, Vec::new(), &params, fold(rows * quads, 64))
}
