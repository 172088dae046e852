//! Parts of a block that offer their values as taps. A tap that the caller does not ask for adds no node.

use super::config::StackConfig;
use crate::activation::Activation;
use crate::graph::{Columns, Graph, GraphError, Rows, TapView, Value};
use crate::ops::{AttentionScores, Linear, Normalization, ScoreStage};
use crate::shape::AttentionShape;

/// Adds the last linear layer of a block, with the residual that it must add, if any.
pub(super) fn block_output(
    g: &mut Graph,
    x: Value,
    layer: Linear,
    residual: Option<Value>,
) -> Result<Value, GraphError> {
    let y = g.linear(x, layer, Activation::Identity, residual)?;
    if residual.is_some() {
        // a tap sees the output alone
        let alone = |g: &mut Graph| Ok(g.linear(x, layer, Activation::Identity, None)?.into());
        g.tap("output", TapView::Rows, alone)?;
    }
    Ok(y)
}

/// Adds a norm, and offers its parts as taps whose points begin with `prefix`.
pub(super) fn tapped_norm(
    g: &mut Graph,
    prefix: &str,
    x: Value,
    residual: Option<Value>,
    norm: Normalization,
) -> Result<Value, GraphError> {
    if g.is_watched() {
        let mut sum = None;
        let mut input = |g: &mut Graph| {
            let value = match (sum, residual) {
                (Some(sum), _) => sum,
                (None, None) => x,
                (None, Some(residual)) => g.sum(residual, x)?,
            };
            sum = Some(value);
            Ok(value.into())
        };
        if residual.is_some() {
            g.tap("residual", TapView::Rows, &mut input)?;
        }
        match norm.beta {
            // statistics are not those of the token
            Some(beta) if norm.running.is_some() => {
                g.tap_weight(&format!("{prefix}scale"), norm.gamma);
                g.tap_weight(&format!("{prefix}shift"), beta);
            }
            Some(beta) => {
                g.tap(&format!("{prefix}mean"), TapView::Mean, &mut input)?;
                g.tap(&format!("{prefix}variance"), TapView::Variance, &mut input)?;
                g.tap_weight(&format!("{prefix}scale"), norm.gamma);
                g.tap_weight(&format!("{prefix}shift"), beta);
            }
            // RMS norms subtract no mean
            None => {
                g.tap(&format!("{prefix}mean_square"), TapView::MeanSquare, &mut input)?;
                g.tap_weight(&format!("{prefix}scale"), norm.gamma);
            }
        }
    }
    let y = g.layer_norm(x, residual, norm)?;
    if g.is_watched() {
        g.tap(&format!("{prefix}output"), TapView::Rows, |_| Ok(y.into()))?;
    }
    Ok(y)
}

/// Offers queries, keys and values as taps.
pub(super) fn tap_heads(
    g: &mut Graph,
    stack: &StackConfig,
    [queries, keys, values]: [Columns; 3],
) -> Result<(), GraphError> {
    let &StackConfig { heads, d_k, d_v, .. } = stack;
    for (point, columns, width) in [("queries", queries, d_k), ("keys", keys, d_k), ("values", values, d_v)] {
        g.tap(point, TapView::Heads { heads, width }, |_| Ok(columns))?;
    }
    Ok(())
}

/// Offers the scores and weights of an attention that has a matrix of them as taps.
pub(super) fn tap_scores(
    g: &mut Graph,
    shape: AttentionShape,
    key_mask: Option<Value>,
    [queries, keys]: [Columns; 2],
    distance_bias: Option<Rows>,
) -> Result<(), GraphError> {
    let Some(key_mask) = key_mask.filter(|_| g.is_watched()) else { return Ok(()) };
    let scores = AttentionScores { shape, queries, keys, key_mask, distance_bias };
    let view = TapView::Maps { heads: shape.heads };
    for (point, stage) in [
        ("products", ScoreStage::Products),
        ("scores", ScoreStage::Scaled),
        ("masked_scores", ScoreStage::Masked),
    ] {
        g.tap(point, view, |g| Ok(g.attention_scores(scores, stage)?.into()))?;
    }
    g.tap("weights", view, |g| Ok(g.attention_weights(scores)?.into()))
}

/// Offers the contexts of an attention as a tap.
pub(super) fn tap_context(g: &mut Graph, stack: &StackConfig, context: Value) -> Result<(), GraphError> {
    let view = TapView::Heads { heads: stack.heads, width: stack.d_v };
    g.tap("context", view, |_| Ok(context.into()))
}
