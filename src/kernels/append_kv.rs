//! Copies the keys and values of a fused projection into the caches of a [cached attention](super::cached_attention).

use super::{Access, Dispatch, Kernel, fold, stride};

/// One invocation per element of a key.
pub static APPEND_KV: Kernel = Kernel {
    name: "append_kv",
    wgsl: wgsl!("append_kv" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Write, Access::Write],
    params: AppendKvParams::FIELDS,
};

params! {
    /// Group 1 of `append_kv.wgsl`.
    pub struct AppendKvParams {
        /// Rows of the projection.
        pub rows: u32,
        /// Elements of a key, and of a value.
        pub d_model: u32,
        /// Between rows of the projection, elements.
        pub qkv_stride: u32,
        /// Between rows of the caches, elements.
        pub cache_stride: u32,
    }
}

/// The launch.
///
/// * storage: qkv `[rows, 3 * d_model]`, cache slots u32 `[rows]` (row of the caches to write),
///   key cache and value cache `[…, d_model]`
pub fn dispatch(rows: usize, d_model: usize) -> Dispatch {
    let params = AppendKvParams {
        rows: rows as u32,
        d_model: d_model as u32,
        qkv_stride: stride(3 * d_model) as u32,
        cache_stride: stride(d_model) as u32,
    };
    Dispatch::new(&APPEND_KV, Vec::new(), &params, fold(rows * d_model, 64))
}
