//! `softmax(scale · Q Kᵀ + bias + mask) V` for each head. Vaswani et al. 2017, section 3.2.1, eq. (1); bias by
//! distance: Raffel et al. 2020 (T5), section 2.1.

use super::{Access, AdapterClass, ColumnLayout, Dispatch, Kernel, fold, stride};
pub use crate::shape::AttentionShape;

const STORAGE: &[Access] =
    &[Access::Read, Access::Read, Access::Read, Access::Read, Access::Read, Access::Write];

/// The shader of attention: `kernel` has the bindings, `way` the loop over the keys.
macro_rules! attention_wgsl {
    ($kernel:literal, $way:literal $(+ $helper:literal)*) => {
        wgsl!($kernel + $way $(+ $helper)* + "distance_bias" + "masked" + "grid")
    };
}
pub(super) use attention_wgsl;

/// One invocation per query, head and 64 elements of the head.
pub static ATTENTION: Kernel = Kernel {
    name: "attention",
    wgsl: attention_wgsl!(
        "attention",
        "attend_invocation" + "head_score" + "head_quads" + "cached_keys" + "value_quads"
    ),
    storage: STORAGE,
    params: AttentionParams::FIELDS,
};

/// One workgroup per query, head and 64 elements of the head.
pub static ATTENTION_WORKGROUP: Kernel = Kernel {
    name: "attention_workgroup",
    wgsl: attention_wgsl!("attention", "attend_workgroup" + "value_quads" + "context_quad"),
    storage: STORAGE,
    params: AttentionParams::FIELDS,
};

/// One workgroup per 16 queries, head and 64 elements of the head.
pub static ATTENTION_TILE: Kernel = Kernel {
    name: "attention_tile",
    wgsl: attention_wgsl!(
        "attention",
        "attend_tile" + "head_score" + "head_quads" + "staged_keys" + "value_quads" + "context_quad"
    ),
    storage: STORAGE,
    params: AttentionParams::FIELDS,
};

/// [`ATTENTION`] whose scores are v · tanh(q + k).
pub static ADDITIVE_ATTENTION: Kernel = Kernel {
    name: "additive_attention",
    wgsl: attention_wgsl!(
        "attention",
        "attend_invocation" + "additive_score" + "head_quads" + "cached_keys" + "value_quads"
    ),
    storage: STORAGE,
    params: AttentionParams::FIELDS,
};

/// [`ATTENTION_TILE`] whose scores are v · tanh(q + k).
pub static ADDITIVE_ATTENTION_TILE: Kernel = Kernel {
    name: "additive_attention_tile",
    wgsl: attention_wgsl!(
        "attention",
        "attend_tile" + "additive_score" + "head_quads" + "staged_keys" + "value_quads" + "context_quad"
    ),
    storage: STORAGE,
    params: AttentionParams::FIELDS,
};

params! {
    /// Group 1 of these kernels and of `attention_weights.wgsl`. Strides and offsets in elements.
    pub struct AttentionParams {
        /// Sentences.
        pub batch: u32,
        /// Heads.
        pub heads: u32,
        /// Queries per sentence.
        pub queries: u32,
        /// Keys per sentence.
        pub keys: u32,
        /// Row stride of q.
        pub q_stride: u32,
        /// First column of q.
        pub q_offset: u32,
        /// Row stride of k.
        pub k_stride: u32,
        /// First column of k.
        pub k_offset: u32,
        /// Row stride of v.
        pub v_stride: u32,
        /// First column of v.
        pub v_offset: u32,
        /// Row stride of the output.
        pub out_stride: u32,
        /// Factor of the scores: 1 / √d_head, or 1.
        pub scale: f32,
        /// Reach of the distance bias; 0 for none.
        pub reach: u32,
    }
}

impl AttentionShape {
    pub(super) fn params(
        &self,
        queries: ColumnLayout,
        keys: ColumnLayout,
        values: ColumnLayout,
        out_stride: usize,
        reach: Option<usize>,
    ) -> AttentionParams {
        AttentionParams {
            batch: self.batch as u32,
            heads: self.heads as u32,
            queries: self.queries as u32,
            keys: self.keys as u32,
            q_stride: queries.stride as u32,
            q_offset: queries.first as u32,
            k_stride: keys.stride as u32,
            k_offset: keys.first as u32,
            v_stride: values.stride as u32,
            v_offset: values.first as u32,
            out_stride: out_stride as u32,
            scale: self.scale,
            reach: reach.unwrap_or(0) as u32,
        }
    }
}

/// The attention kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// No barriers.
    Invocation,
    /// Lanes share the keys of one query.
    Workgroup,
    /// Lanes share the keys of 16 queries of a sentence. With a cache, or for heads wider than 64, the same as `Workgroup`.
    Tile,
}

impl Variant {
    /// All variants.
    pub const ALL: [Self; 3] = [Self::Invocation, Self::Workgroup, Self::Tile];
}

/// Minimum queries per sentence for a tile to pay: it saves reads, but fewer lanes share a query.
const TILE_FROM: usize = 256;
const TILE: usize = 16;

/// Picks a kernel: workgroups if barriers are cheap.
pub fn choose(queries: usize, d_head: usize, class: AdapterClass) -> Variant {
    match class {
        AdapterClass::Software => Variant::Invocation,
        AdapterClass::Hardware if queries >= TILE_FROM && d_head <= HEAD_BLOCK => Variant::Tile,
        AdapterClass::Hardware => Variant::Workgroup,
    }
}

/// Workgroup size of [`ATTENTION`]: the width of a CPU's vector.
pub(super) const LANES: u32 = 8;
/// Elements of a head's values that one invocation sums in registers.
pub(super) const HEAD_BLOCK: usize = 64;

/// Computes attention. `reach`: reach of the distance bias, if any.
///
/// * storage: q `[batch * queries, …]`, k and v `[batch * keys, …]`, key mask u32 `[batch, keys]` (nonzero = visible),
///   distance bias `[2 * reach + 1, heads]` (row `clamp(key - query, -reach, reach) + reach`), context
///   `[batch * queries, heads * d_value]`
pub fn dispatch(
    shape: &AttentionShape,
    queries: ColumnLayout,
    keys: ColumnLayout,
    values: ColumnLayout,
    reach: Option<usize>,
    class: AdapterClass,
) -> Dispatch {
    dispatch_variant(shape, queries, keys, values, reach, choose(shape.queries, shape.d_head, class))
}

/// [`dispatch`] with a given kernel, for tests and measurements.
pub fn dispatch_variant(
    shape: &AttentionShape,
    queries: ColumnLayout,
    keys: ColumnLayout,
    values: ColumnLayout,
    reach: Option<usize>,
    variant: Variant,
) -> Dispatch {
    let params = shape.params(queries, keys, values, stride(shape.heads * shape.d_value), reach);
    let starts = [queries.first, keys.first, values.first, shape.d_head, shape.d_value];
    let aligned = starts.iter().all(|n| n.is_multiple_of(4));
    let constants = vec![
        ("D_HEAD", shape.d_head as f64),
        ("D_VALUE", shape.d_value as f64),
        ("ALIGNED", f64::from(aligned)),
        ("CAUSAL", f64::from(shape.causal)),
        ("HAS_DISTANCE_BIAS", f64::from(reach.is_some())),
    ];
    let blocks_of_queries =
        |queries: usize| shape.batch * queries * shape.heads * shape.d_value.div_ceil(HEAD_BLOCK);
    let blocks = blocks_of_queries(shape.queries);
    let (kernel, workgroups) = match variant {
        Variant::Invocation => (&ATTENTION, fold(blocks, LANES)),
        Variant::Tile if shape.d_head > HEAD_BLOCK => (&ATTENTION_WORKGROUP, fold(blocks, 1)),
        Variant::Workgroup => (&ATTENTION_WORKGROUP, fold(blocks, 1)),
        Variant::Tile => (&ATTENTION_TILE, fold(blocks_of_queries(shape.queries.div_ceil(TILE)), 1)),
    };
    Dispatch::new(kernel, constants, &params, workgroups)
}

/// [`dispatch`] whose scores are v · tanh(q + k), with `scale` for all elements of v. Bahdanau et al. 2015, appendix A.1.2.
pub fn additive_dispatch(
    shape: &AttentionShape,
    queries: ColumnLayout,
    keys: ColumnLayout,
    values: ColumnLayout,
    reach: Option<usize>,
    class: AdapterClass,
) -> Dispatch {
    let (variant, kernel) = match class {
        AdapterClass::Software => (Variant::Invocation, &ADDITIVE_ATTENTION),
        AdapterClass::Hardware if shape.d_head <= HEAD_BLOCK => (Variant::Tile, &ADDITIVE_ATTENTION_TILE),
        AdapterClass::Hardware => (Variant::Invocation, &ADDITIVE_ATTENTION),
    };
    Dispatch { kernel, ..dispatch_variant(shape, queries, keys, values, reach, variant) }
}
