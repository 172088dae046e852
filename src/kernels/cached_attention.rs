//! Attention of one query per row over a key–value cache, in the order of an index table. It also adds the row's own
//! key and value to the cache.
//!
//! A row's history is a list of cache slots. A beam search reorders these lists; keys and values stay in place. Until
//! the next step, only the row itself reads its new key and value, and one workgroup or invocation reads those of a
//! head. So the kernel that attends can also fill the cache.

use super::attention::{HEAD_BLOCK, LANES, Variant, attention_wgsl, choose};
use super::{Access, AdapterClass, Dispatch, Kernel, fold, stride};
pub use crate::shape::CachedAttentionShape;

const STORAGE: &[Access] = &[
    Access::Read,
    Access::Read,
    Access::Read,
    Access::Read,
    Access::Read,
    Access::Write,
    Access::Write,
    Access::Write,
];

/// One invocation per row, head and 64 elements of the head.
pub static CACHED_ATTENTION: Kernel = Kernel {
    name: "cached_attention",
    wgsl: attention_wgsl!(
        "cached_attention",
        "attend_invocation" + "head_score" + "head_quads" + "cached_keys" + "value_quads"
    ),
    storage: STORAGE,
    params: CachedAttentionParams::FIELDS,
};

/// One workgroup per row, head and 64 elements of the head.
pub static CACHED_ATTENTION_WORKGROUP: Kernel = Kernel {
    name: "cached_attention_workgroup",
    wgsl: attention_wgsl!("cached_attention", "attend_workgroup" + "value_quads" + "context_quad"),
    storage: STORAGE,
    params: CachedAttentionParams::FIELDS,
};

params! {
    /// Group 1 of these kernels. Strides and offsets in elements.
    pub struct CachedAttentionParams {
        /// Rows: beams of all sentences.
        pub rows: u32,
        /// Heads.
        pub heads: u32,
        /// Cache slots per row.
        pub capacity: u32,
        /// Row stride of the projection.
        pub qkv_stride: u32,
        /// Row stride of the key cache.
        pub key_stride: u32,
        /// Row stride of the value cache and of the context.
        pub value_stride: u32,
        /// Factor of the scores: 1 / √d_head, or 1.
        pub scale: f32,
        /// Reach of the distance bias; 0 for none.
        pub reach: u32,
    }
}

/// Whether the width of a head is a multiple of four.
fn aligned(shape: &CachedAttentionShape) -> bool {
    shape.d_head.is_multiple_of(4) && shape.d_value.is_multiple_of(4)
}

/// Whether the launch also fills the cache; if not, an [`append_kv`](super::append_kv) must come first. Heads are read
/// in quads, which must not span two heads. In heads wider than `HEAD_BLOCK`, several invocations would need the same
/// key.
pub fn appends(shape: &CachedAttentionShape, variant: Variant) -> bool {
    aligned(shape) && (variant != Variant::Invocation || shape.d_value <= HEAD_BLOCK)
}

/// Attends; if it does not [append](appends), an [`append_kv`](super::append_kv) must come first.
///
/// A row with a cache slot below `rows * capacity` writes its key and value there. That slot must be the row's last,
/// and no other row may have it. A row without a cache slot only attends.
///
/// * `reach`: reach of the distance bias, if any
/// * storage: qkv `[rows, heads * (2 * d_head + d_value)]`, cache slots u32 `[rows]`, slots u32 `[rows, capacity]`
///   (rows of the caches for each visible key, in order), key counts u32 `[rows]`, distance bias
///   `[2 * reach + 1, heads]` (the query's position is that of its last key), key cache
///   `[rows * capacity, heads * d_head]`, value cache `[rows * capacity, heads * d_value]`, context
///   `[rows, heads * d_value]`
pub fn dispatch(shape: &CachedAttentionShape, reach: Option<usize>, class: AdapterClass) -> Dispatch {
    dispatch_variant(shape, reach, choose(1, shape.d_head, class))
}

/// [`dispatch`] with a given kernel, for tests and measurements.
pub fn dispatch_variant(shape: &CachedAttentionShape, reach: Option<usize>, variant: Variant) -> Dispatch {
    let key_width = shape.heads * shape.d_head;
    let value_width = shape.heads * shape.d_value;
    let params = CachedAttentionParams {
        rows: shape.rows as u32,
        heads: shape.heads as u32,
        capacity: shape.capacity as u32,
        qkv_stride: stride(2 * key_width + value_width) as u32,
        key_stride: stride(key_width) as u32,
        value_stride: stride(value_width) as u32,
        scale: shape.scale,
        reach: reach.unwrap_or(0) as u32,
    };
    let constants = vec![
        ("D_HEAD", shape.d_head as f64),
        ("D_VALUE", shape.d_value as f64),
        ("ALIGNED", f64::from(aligned(shape))),
        ("APPENDS", f64::from(appends(shape, variant))),
        ("HAS_DISTANCE_BIAS", f64::from(reach.is_some())),
    ];
    let blocks = shape.rows * shape.heads * shape.d_value.div_ceil(HEAD_BLOCK);
    let (kernel, workgroups) = match variant {
        Variant::Invocation => (&CACHED_ATTENTION, fold(blocks, LANES)),
        Variant::Workgroup | Variant::Tile => (&CACHED_ATTENTION_WORKGROUP, fold(blocks, 1)),
    };
    Dispatch::new(kernel, constants, &params, workgroups)
}
