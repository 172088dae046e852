//! From token ids to the first hidden states. Vaswani et al. 2017, sections 3.4 and 3.5.

use super::attention::{Taps, tap};
use super::blueprint::{Blueprint, Ends, Norm};
use super::config::ModelConfig;
use super::hidden::Hidden;
use crate::graph::{Graph, GraphError, Matrix, Value};

/// Tokens, u32 `[rows, 1]` each.
#[derive(Clone, Copy, Debug)]
pub struct Tokens {
    /// Token ids.
    pub ids: Value,
    /// Rows of the position table, where there is one.
    pub positions: Value,
    /// Kinds of text, in models that have them.
    pub types: Option<Value>,
}

/// Token embeddings times their scale, plus positions, plus token types; normalised where the model does so.
pub(super) fn embedding(
    g: &mut Graph,
    config: &ModelConfig,
    blueprint: &Blueprint,
    (table, ends): (Matrix, &Ends),
    tokens: Tokens,
) -> Result<Hidden, GraphError> {
    let positions = ends.positions.map(|rows| (tokens.positions, rows));
    let x = g.embed(tokens.ids, positions, table, config.embedding_scale)?;
    let types = match (tokens.types, blueprint.token_types) {
        (Some(types), Some(table)) => Some(g.embed(types, None, table, 1.0)?),
        _ => None,
    };
    Ok(match ends.embedding_norm {
        Some(norm) => Hidden::normalized(config, norm, x, types),
        // the one family with token types has the norm
        None => Hidden::Known(x),
    })
}

/// Keeps a layer's output where somebody wants to see it; the embeddings are number 0.
pub(super) fn keep_hidden(
    g: &mut Graph,
    taps: Taps<'_>,
    layer: usize,
    x: &mut Hidden,
) -> Result<(), GraphError> {
    match tap(taps.hidden_states, layer).0 {
        Some(state) => {
            let value = x.value(g)?;
            g.keep(value, state)
        }
        None => Ok(()),
    }
}

/// The end of a stack of so many layers: its final norm, if it has one, and the last of its hidden states.
pub(super) fn end_of_stack(
    g: &mut Graph,
    config: &ModelConfig,
    norm: Option<Norm>,
    layers: usize,
    mut x: Hidden,
    taps: Taps<'_>,
) -> Result<Hidden, GraphError> {
    if !config.last_hidden_is_normed() {
        keep_hidden(g, taps, layers, &mut x)?;
    }
    let mut end = match norm {
        Some(norm) => Hidden::normalized(config, norm, x.value(g)?, None),
        None => x,
    };
    if config.last_hidden_is_normed() {
        keep_hidden(g, taps, layers, &mut end)?;
    }
    Ok(end)
}
