//! Attention of one query per row over a key–value cache, in the order of an index table.
//!
//! A row's history is a list of cache slots. When a beam search reorders its beams, it rewrites these lists; keys and
//! values stay where they were written.

use super::attention::{HEAD_BLOCK, LANES, Variant, choose};
use super::{Access, AdapterClass, ColumnLayout, Dispatch, Kernel, fold, stride};

const STORAGE: &[Access] =
    &[Access::Read, Access::Read, Access::Read, Access::Read, Access::Read, Access::Write];

/// One invocation per row, head and 64 elements of the head.
pub static CACHED_ATTENTION: Kernel = Kernel {
    name: "cached_attention",
    wgsl: wgsl!("cached_attention" + "attend_invocation" + "head_score" + "masked" + "grid"),
    storage: STORAGE,
    params: CachedAttentionParams::FIELDS,
};

/// One workgroup per row, head and 64 elements of the head.
pub static CACHED_ATTENTION_WORKGROUP: Kernel = Kernel {
    name: "cached_attention_workgroup",
    wgsl: wgsl!("cached_attention" + "attend_workgroup" + "reduce" + "masked" + "grid"),
    storage: STORAGE,
    params: CachedAttentionParams::FIELDS,
};

params! {
    /// Group 1 of both kernels. Strides and offsets in elements.
    pub struct CachedAttentionParams {
        /// Queries: beams of all sentences.
        pub rows: u32,
        /// Heads.
        pub heads: u32,
        /// Cache slots of a row.
        pub capacity: u32,
        /// Between rows of q.
        pub q_stride: u32,
        /// First column of q.
        pub q_offset: u32,
        /// Between rows of the caches, and of the context.
        pub stride: u32,
        /// Factor of the scores: 1 / √d_head, or 1.
        pub scale: f32,
    }
}

/// What a cached attention computes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CachedAttentionShape {
    /// Queries: beams of all sentences.
    pub rows: usize,
    /// Heads.
    pub heads: usize,
    /// Width of one head.
    pub d_head: usize,
    /// Cache slots of a row.
    pub capacity: usize,
    /// Factor of the scores: 1 / √d_head, or 1.
    pub scale: f32,
}

/// The launch.
///
/// * storage: q `[rows, …]`, key cache and value cache `[rows * capacity, heads * d_head]`, slots u32
///   `[rows, capacity]` (row of the caches for each visible key, in order), key counts u32 `[rows]`,
///   context `[rows, heads * d_head]`
pub fn dispatch(shape: &CachedAttentionShape, queries: ColumnLayout, class: AdapterClass) -> Dispatch {
    dispatch_variant(shape, queries, choose(class))
}

/// [`dispatch`] with a kernel of one's own choice: for tests and measurements.
pub fn dispatch_variant(shape: &CachedAttentionShape, queries: ColumnLayout, variant: Variant) -> Dispatch {
    let params = CachedAttentionParams {
        rows: shape.rows as u32,
        heads: shape.heads as u32,
        capacity: shape.capacity as u32,
        q_stride: queries.stride as u32,
        q_offset: queries.first as u32,
        stride: stride(shape.heads * shape.d_head) as u32,
        scale: shape.scale,
    };
    let aligned = queries.first.is_multiple_of(4) && shape.d_head.is_multiple_of(4);
    let constants = vec![("D_HEAD", shape.d_head as f64), ("ALIGNED", f64::from(aligned))];
    let blocks = shape.rows * shape.heads * shape.d_head.div_ceil(HEAD_BLOCK);
    let (kernel, workgroups) = match variant {
        Variant::Invocation => (&CACHED_ATTENTION, fold(blocks, LANES)),
        Variant::Workgroup => (&CACHED_ATTENTION_WORKGROUP, fold(blocks, 1)),
    };
    Dispatch::new(kernel, constants, &params, workgroups)
}
