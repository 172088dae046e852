//! Copies the first columns of several matrices, side by side, into a cache.

use super::{Access, Dispatch, Kernel, fold, stride};

/// Maximum matrices of a launch: the other two storage buffers are the cache and its slots.
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
        /// Row stride of the cache.
        pub cache_stride: u32,
        /// Number of matrices.
        pub parts: u32,
        /// Copied columns of each matrix.
        pub width: u32,
        /// Row stride of the first matrix.
        pub stride0: u32,
        /// Row stride of the second matrix.
        pub stride1: u32,
        /// Row stride of the third matrix.
        pub stride2: u32,
        /// Row stride of the fourth matrix.
        pub stride3: u32,
        /// Row stride of the fifth matrix.
        pub stride4: u32,
        /// Row stride of the sixth matrix.
        pub stride5: u32,
    }
}

/// Copies columns; skips rows whose cache slot is not below `cache_rows`. Panics for more than [`MAX_PARTS`] matrices.
///
/// * `widths`: widths of the matrices; `width`: copied columns of each
/// * storage: six matrices `[rows, …]` (any buffer in place of an absent one), cache slots u32 `[rows]` (row of the
///   cache), cache `[cache_rows, parts * width]`
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
