//! The scores `scale · Q Kᵀ` of an [attention](super::attention), before or after bias and mask. A kernel of its own, so
//! that attention stays fast if its scores are not shown.

use super::attention::{AttentionParams, AttentionShape};
use super::{Access, ColumnLayout, Dispatch, Kernel, fold, stride};

/// Invocations of a workgroup.
const LANES: u32 = 64;

/// One invocation per query, head and key.
pub static ATTENTION_SCORES: Kernel = Kernel {
    name: "attention_scores",
    wgsl: wgsl!(
        "attention_scores"
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

/// Computes the scores. `reach`: reach of the distance bias, if any; `masked`: whether bias and mask are applied.
///
/// * storage: q `[batch * queries, …]`, k `[batch * keys, …]`, key mask u32 `[batch, keys]` (nonzero = visible),
///   distance bias `[2 * reach + 1, heads]`, scores `[batch * heads * queries, keys]`
pub fn dispatch(
    shape: &AttentionShape,
    queries: ColumnLayout,
    keys: ColumnLayout,
    reach: Option<usize>,
    masked: bool,
) -> Dispatch {
    let width = stride(shape.keys);
    let params = shape.params(queries, keys, ColumnLayout { stride: 0, first: 0 }, width, reach);
    let aligned = [queries.first, keys.first, shape.d_head].iter().all(|n| n.is_multiple_of(4));
    let constants = vec![
        ("D_HEAD", shape.d_head as f64),
        ("ALIGNED", f64::from(aligned)),
        ("CAUSAL", f64::from(shape.causal)),
        ("HAS_DISTANCE_BIAS", f64::from(reach.is_some())),
        ("APPLY_MASK", f64::from(masked)),
    ];
    let elements = shape.batch * shape.heads * shape.queries * width;
    Dispatch::new(&ATTENTION_SCORES, constants, &params, fold(elements, LANES))
}
