//! The weights `softmax(scale · Q Kᵀ + bias + mask)` of an [attention](super::attention). A kernel of its own, so that
//! attention stays fast if its weights are not shown.

use super::attention::{AttentionParams, AttentionShape, LANES};
use super::{Access, ColumnLayout, Dispatch, Kernel, fold, stride};

/// One invocation per query and head.
pub static ATTENTION_WEIGHTS: Kernel = Kernel {
    name: "attention_weights",
    wgsl: wgsl!(
        "attention_weights"
            + "head_score"
            + "head_quads"
            + "cached_keys"
            + "distance_bias"
            + "masked"
            + "grid"
    ),
    storage: &[Access::Read, Access::Read, Access::Read, Access::Read, Access::Write],
    params: AttentionParams::FIELDS,
};

/// [`ATTENTION_WEIGHTS`] whose scores are v · tanh(q + k).
pub static ADDITIVE_ATTENTION_WEIGHTS: Kernel = Kernel {
    name: "additive_attention_weights",
    wgsl: wgsl!(
        "attention_weights"
            + "additive_score"
            + "head_quads"
            + "cached_keys"
            + "distance_bias"
            + "masked"
            + "grid"
    ),
    storage: ATTENTION_WEIGHTS.storage,
    params: AttentionParams::FIELDS,
};

/// Computes the weights. `reach`: reach of the distance bias, if any.
///
/// * storage: q `[batch * queries, …]`, k `[batch * keys, …]`, key mask u32 `[batch, keys]` (nonzero = visible),
///   distance bias `[2 * reach + 1, heads]`, weights `[batch * heads * queries, keys]`
pub fn dispatch(
    shape: &AttentionShape,
    queries: ColumnLayout,
    keys: ColumnLayout,
    reach: Option<usize>,
) -> Dispatch {
    let params = shape.params(queries, keys, ColumnLayout { stride: 0, first: 0 }, stride(shape.keys), reach);
    let aligned = [queries.first, keys.first, shape.d_head].iter().all(|n| n.is_multiple_of(4));
    let constants = vec![
        ("D_HEAD", shape.d_head as f64),
        ("ALIGNED", f64::from(aligned)),
        ("CAUSAL", f64::from(shape.causal)),
        ("HAS_DISTANCE_BIAS", f64::from(reach.is_some())),
    ];
    Dispatch::new(
        &ATTENTION_WEIGHTS,
        constants,
        &params,
        fold(shape.batch * shape.heads * shape.queries, LANES),
    )
}

/// [`dispatch`] whose scores are v · tanh(q + k), with `scale` for all elements of v.
pub fn additive_dispatch(
    shape: &AttentionShape,
    queries: ColumnLayout,
    keys: ColumnLayout,
    reach: Option<usize>,
) -> Dispatch {
    Dispatch { kernel: &ADDITIVE_ATTENTION_WEIGHTS, ..dispatch(shape, queries, keys, reach) }
}
