//! Attention of one query per row over a key–value cache, in the order of an index table, and the way of the row's own key
//! and value into the cache.
//!
//! A row's history is a list of cache slots. When a beam search reorders its beams, it rewrites these lists; keys and
//! values stay where they were written. What a step makes of a row is read by that row alone until the next step, and each
//! of its heads by one workgroup or invocation alone: so that who attends can fill the cache as well.

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
    wgsl: attention_wgsl!("cached_attention", "attend_invocation" + "head_score" + "value_quads"),
    storage: STORAGE,
    params: CachedAttentionParams::FIELDS,
};

/// One workgroup per row, head and 64 elements of the head.
pub static CACHED_ATTENTION_WORKGROUP: Kernel = Kernel {
    name: "cached_attention_workgroup",
    wgsl: attention_wgsl!("cached_attention", "attend_workgroup" + "reduce"),
    storage: STORAGE,
    params: CachedAttentionParams::FIELDS,
};

params! {
    /// Group 1 of these kernels. Strides and offsets in elements.
    pub struct CachedAttentionParams {
        /// Queries: beams of all sentences.
        pub rows: u32,
        /// Heads.
        pub heads: u32,
        /// Cache slots of a row.
        pub capacity: u32,
        /// Between rows of the projection.
        pub qkv_stride: u32,
        /// Between rows of the key cache.
        pub key_stride: u32,
        /// Between rows of the value cache, and of the context.
        pub value_stride: u32,
        /// Factor of the scores: 1 / √d_head, or 1.
        pub scale: f32,
        /// Of the distance bias; 0 where there is none.
        pub reach: u32,
    }
}

/// Whether every head is a whole number of quads wide.
fn aligned(shape: &CachedAttentionShape) -> bool {
    shape.d_head.is_multiple_of(4) && shape.d_value.is_multiple_of(4)
}

/// Whether the launch fills the cache as well; else [`append_kv`](super::append_kv) has to come before it. Heads are copied
/// four elements at a time, which must not be those of two heads. Where they are wider than what an invocation sums up,
/// several would need the same key.
pub fn appends(shape: &CachedAttentionShape, variant: Variant) -> bool {
    aligned(shape) && (variant != Variant::Invocation || shape.d_value <= HEAD_BLOCK)
}

/// The launch; where it does not [append](appends), after an [`append_kv`](super::append_kv).
///
/// A row whose cache slot is below `rows * capacity` has its own key and value written there, and must have that slot as
/// its last; no other row may have it among its own. A row without a cache slot only attends.
///
/// * `reach`: of the distance bias, where there is one
/// * storage: qkv `[rows, heads * (2 * d_head + d_value)]`, cache slots u32 `[rows]`, slots u32 `[rows, capacity]` (row of
///   the caches for each visible key, in order), key counts u32 `[rows]`, distance bias `[2 * reach + 1, heads]` (the query
///   stands where the last key does), key cache `[rows * capacity, heads * d_head]`, value cache
///   `[rows * capacity, heads * d_value]`, context `[rows, heads * d_value]`
pub fn dispatch(shape: &CachedAttentionShape, reach: Option<usize>, class: AdapterClass) -> Dispatch {
    dispatch_variant(shape, reach, choose(1, class))
}

/// [`dispatch`] with a kernel of one's own choice: for tests and measurements.
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
