//! Copies the first columns of several matrices, side by side, into a cache.

use super::{Access, Dispatch, Kernel, fold, stride};

/// The most matrices of a launch: as many as there are storage buffers, but for the cache and its slots.
pub const MAX_PARTS: usize = 6;

/// One invocation per element.
pub static APPEND_ROWS: Kernel = Kernel {
    name: "append_rows",
    wgsl: wgsl!("append_rows" + "grid"),
    storage: &[
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Write,
    ],
    params: AppendRowsParams::FIELDS,
};

params! {
    /// Group 1 of `append_rows.wgsl`. Strides in elements.
    pub struct AppendRowsParams {
        /// Rows of each matrix.
        pub rows: u32,
        /// Rows of the cache.
        pub cache_rows: u32,
        /// Between rows of the cache.
        pub cache_stride: u32,
        /// Matrices.
        pub parts: u32,
        /// Columns of each that are copied.
        pub width: u32,
        /// Between rows of the first matrix.
        pub stride0: u32,
        /// Of the second.
        pub stride1: u32,
        /// Of the third.
        pub stride2: u32,
        /// Of the fourth.
        pub stride3: u32,
        /// Of the fifth.
        pub stride4: u32,
        /// Of the sixth.
        pub stride5: u32,
    }
}

/// The launch. A row whose cache slot is not below `cache_rows` is left out.
///
/// * `widths`: of the matrices, from 1 to [`MAX_PARTS`]; `width`: their columns that are copied
/// * storage: six matrices `[rows, …]`, anything in place of those that are not there; cache slots u32 `[rows]` (row of the
///   cache to write), cache `[cache_rows, parts * width]`
///
/// # Panics
/// For more matrices.
pub fn dispatch(rows: usize, widths: &[usize], cache_rows: usize, width: usize) -> Dispatch {
    let parts = widths.len();
    let mut strides = [0; MAX_PARTS];
    for (stored, &width) in strides[..parts].iter_mut().zip(widths) {
        *stored = stride(width) as u32;
    }
    let [stride0, stride1, stride2, stride3, stride4, stride5] = strides;
    let params = AppendRowsParams {
        rows: rows as u32,
        cache_rows: cache_rows as u32,
        cache_stride: stride(parts * width) as u32,
        parts: parts as u32,
        width: width as u32,
        stride0,
        stride1,
        stride2,
        stride3,
        stride4,
        stride5,
    };
    Dispatch::new(&APPEND_ROWS, Vec::new(), &params, fold(rows * parts * width, 64))
}
