//! Copies the keys and values of a fused projection into the caches of a [cached attention](super::cached_attention).

use super::{Access, Dispatch, Kernel, fold, stride};

/// One invocation per element of a key and a value.
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
        /// Rows of the caches.
        pub cache_rows: u32,
        /// Elements of a key, all heads.
        pub key_width: u32,
        /// Elements of a value, all heads.
        pub value_width: u32,
        /// Row stride of the projection, elements.
        pub qkv_stride: u32,
        /// Row stride of the key cache, elements.
        pub key_stride: u32,
        /// Row stride of the value cache, elements.
        pub value_stride: u32,
    }
}

/// Copies keys and values; skips rows whose cache slot is not below `cache_rows`.
///
/// * storage: qkv `[rows, 2 * key_width + value_width]`, cache slots u32 `[rows]` (row of the caches), key cache
///   `[cache_rows, key_width]`, value cache `[cache_rows, value_width]`
pub fn dispatch(rows: usize, cache_rows: usize, key_width: usize, value_width: usize) -> Dispatch {
    let params = AppendKvParams {
        rows: rows as u32,
        cache_rows: cache_rows as u32,
        key_width: key_width as u32,
        value_width: value_width as u32,
        qkv_stride: stride(2 * key_width + value_width) as u32,
        key_stride: stride(key_width) as u32,
        value_stride: stride(value_width) as u32,
    };
    Dispatch::new(&APPEND_KV, Vec::new(), &params, fold(rows * key_width.max(value_width), 64))
}
