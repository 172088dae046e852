//! Self-attention over whole sequences, of any kind. Vaswani et al. 2017, section 3.2.3.

use super::attention::{AttentionLayer, Sequences, attend, attend_additively, residual_block, tap};
use super::blueprint::{SelfAttention, qkv_columns};
use super::projected::{Projected, projected};
use super::self_attention::{Globals, SelfAttentionKind, TokenBlocks};
use super::tapped::{block_output, tap_context, tap_heads, tap_scores};
use super::windows::Windows;
use crate::activation::Activation;
use crate::graph::{Columns, Graph, GraphError, Value};
use crate::ops::Cache;
use crate::shape::{AttentionShape, Band};

/// Adds self-attention over whole sequences: the encoder, or the decoder under teacher forcing and for prompts. Keys
/// and values also go to the cache, if given. Also returns the fused projection, which begins with the queries.
pub(super) fn self_attention(
    g: &mut Graph,
    attention: AttentionLayer<'_>,
    weights: &SelfAttention,
    x: Value,
    sequences: &Sequences,
    cache: Option<&Cache>,
) -> Result<(Value, Value), GraphError> {
    let Sequences { batch, length, visible, .. } = *sequences;
    residual_block(g, attention.config, (weights.norm, weights.switches), x, |g, x, residual| {
        let qkv = g.linear(x, weights.qkv, Activation::Identity, None)?;
        if let Some(state) = tap(attention.taps.projections, attention.layer).0 {
            g.keep(qkv, state)?;
        }
        if let Some(cache) = cache {
            g.append_kv(qkv, cache.cache_slots, cache.keys, cache.values)?;
        }
        let [queries, keys, values] = qkv_columns(attention.stack).map(|first| Columns { value: qkv, first });
        let own = Projected { columns: [queries, keys, values], keys: length, visible };
        let Projected { columns, keys, visible } = match attention.kind {
            SelfAttentionKind::SharedQk => Projected { columns: [queries, queries, values], ..own },
            SelfAttentionKind::Linformer { rank, .. } => {
                projected(g, attention, weights, qkv, sequences, *rank)?
            }
            _ => own,
        };
        let shape = attention.shape(batch, length, keys, attention.causal);
        tap_heads(g, attention.stack, columns)?;
        let tap = tap(attention.taps.attentions, attention.layer);
        let context = match attention.kind {
            SelfAttentionKind::Window { radius, globals } => {
                let globals = sequences.globals.filter(|_| *globals != Globals::None);
                let band = Band::window(length.min(*radius));
                let windows = Windows { attention, band, copies: 1, sequences, globals };
                windows.attend(g, weights, x, columns)?
            }
            SelfAttentionKind::TransientGlobal { radius } => {
                let band = Band::window(length.min(*radius));
                let windows = Windows { attention, band, copies: 1, sequences, globals: None };
                windows.attend_with_blocks(g, weights, x, columns)?
            }
            SelfAttentionKind::Blocks(TokenBlocks { size, random }) => {
                let band = Band { block: *size, left: *size, right: *size };
                let globals = sequences.ends;
                let blocks = Windows { attention, band, copies: 1 + random, sequences, globals };
                blocks.attend_blocks(g, columns)?
            }
            // every score is zero
            SelfAttentionKind::Uniform => {
                let shape = AttentionShape { scale: 0.0, ..shape };
                tap_scores(g, shape, visible.mask(), [columns[0], columns[1]], None)?;
                attend(g, shape, visible, (columns, None), tap)?
            }
            SelfAttentionKind::Full | SelfAttentionKind::SharedQk | SelfAttentionKind::Linformer { .. } => {
                let bias = attention.distance_bias.keys;
                tap_scores(g, shape, visible.mask(), [columns[0], columns[1]], bias)?;
                attend(g, shape, visible, (columns, bias), tap)?
            }
            SelfAttentionKind::Additive => {
                attend_additively(g, shape, visible, (columns, attention.distance_bias.keys), tap)?
            }
        };
        tap_context(g, attention.stack, context)?;
        Ok((block_output(g, context, weights.output, residual)?, qkv))
    })
}
