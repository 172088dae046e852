//! From token ids to the first hidden states. Vaswani et al. 2017, sections 3.4 and 3.5.

use super::attention::{Taps, tap};
use super::blueprint::{Blueprint, Norm, StackWeights};
use super::config::ModelConfig;
use super::tapped::tapped_norm;
use crate::graph::{Graph, GraphError, Matrix, TapView, Value};

/// Tokens, u32 `[rows, 1]` each.
#[derive(Clone, Copy, Debug)]
pub struct Tokens {
    /// Token ids.
    pub ids: Value,
    /// Rows of the position table, if there is one.
    pub positions: Value,
    /// Token types, if the model has them.
    pub types: Option<Value>,
}

/// Adds token embeddings times their scale, plus positions, plus token types; normalized if the model does so.
/// `zero_start`: whether the first position has no token.
pub(super) fn embedding(
    g: &mut Graph,
    config: &ModelConfig,
    blueprint: &Blueprint,
    (table, stack): (Matrix, &StackWeights),
    tokens: Tokens,
    zero_start: bool,
) -> Result<Value, GraphError> {
    let (ids, scale) = (tokens.ids, config.embedding_scale);
    let positions = stack.positions.map(|rows| (tokens.positions, rows));
    let x = match zero_start {
        true => g.embed_after_start(ids, (tokens.positions, stack.positions), table, scale)?,
        false => g.embed(ids, positions, table, scale)?,
    };
    if !zero_start {
        // the token alone
        let alone = |g: &mut Graph| Ok(g.embed(tokens.ids, None, table, config.embedding_scale)?.into());
        g.tap("token", TapView::Rows, alone)?;
    }
    if positions.is_some() {
        // the position alone: 0 times the token
        let alone = |g: &mut Graph| Ok(g.embed(tokens.ids, positions, table, 0.0)?.into());
        g.tap("position", TapView::Rows, alone)?;
    }
    g.tap("sum", TapView::Rows, |_| Ok(x.into()))?;
    let types = match (tokens.types, blueprint.token_types) {
        (Some(types), Some(table)) => Some(g.embed(types, None, table, 1.0)?),
        _ => None,
    };
    let x = match (stack.embedding_norm, types) {
        (Some(norm), types) => tapped_norm(g, "norm.", x, types, norm.of(config))?,
        (None, Some(types)) => g.sum(types, x)?,
        (None, None) => x,
    };
    g.drop_and_add(x, None)
}

/// Keeps a layer's output if it has a tap; layer 0 is the embeddings.
pub(super) fn keep_hidden(g: &mut Graph, taps: Taps<'_>, layer: usize, x: Value) -> Result<(), GraphError> {
    match tap(taps.hidden_states, layer).0 {
        Some(state) => g.keep(x, state),
        None => Ok(()),
    }
}

/// Ends a stack of `layers` layers: final norm, if any, and last hidden state.
pub(super) fn end_of_stack(
    g: &mut Graph,
    config: &ModelConfig,
    norm: Option<Norm>,
    layers: usize,
    x: Value,
    taps: Taps<'_>,
) -> Result<Value, GraphError> {
    if !config.last_hidden_is_normed() {
        keep_hidden(g, taps, layers, x)?;
    }
    let end = match norm {
        Some(norm) => tapped_norm(g, "", x, None, norm.of(config))?,
        None => x,
    };
    if config.last_hidden_is_normed() {
        keep_hidden(g, taps, layers, end)?;
    }
    Ok(end)
}
