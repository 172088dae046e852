//! Where the weights of layers with bands or sums stand.

use super::global_states::globals_of;
use crate::model::config::ModelConfig;
use crate::model::{BandLayout, Globals, SelfAttentionKind, SideColumns};
use crate::shape::Band;

/// The layout of an encoder layer's weights for a source of `length` tokens; `None` if they are a matrix.
///
/// * `requested`: global tokens that the request names, in order
pub(crate) fn band_layout(
    config: &ModelConfig,
    layer: usize,
    length: usize,
    requested: &[usize],
) -> Option<BandLayout> {
    match config.encoder_kind(layer).for_length(length) {
        SelfAttentionKind::Window { radius, globals } => {
            let tokens = match globals {
                Globals::None => Vec::new(),
                _ => globals_of(config, requested).to_vec(),
            };
            Some(BandLayout {
                band: Band::window(length.min(*radius)),
                sides: SideColumns::Tokens(tokens.clone()),
                global_queries: tokens,
            })
        }
        SelfAttentionKind::TransientGlobal { radius } => Some(BandLayout {
            band: Band::window(length.min(*radius)),
            sides: match config.block_tokens {
                Some(tokens) => SideColumns::Sums { count: length / tokens, tokens },
                None => SideColumns::Tokens(Vec::new()),
            },
            global_queries: Vec::new(),
        }),
        SelfAttentionKind::Blocks(blocks) => {
            let size = blocks.size;
            let last = length.saturating_sub(1) / size * size;
            let ends: Vec<usize> = (0..size).chain(last..length).collect();
            Some(BandLayout {
                band: Band { block: size, left: size, right: size },
                sides: SideColumns::Tokens(ends.clone()),
                global_queries: ends,
            })
        }
        SelfAttentionKind::Linformer { rank, is_learned: true } => Some(BandLayout {
            band: Band::NONE,
            sides: SideColumns::Projections(*rank),
            global_queries: Vec::new(),
        }),
        SelfAttentionKind::Full
        | SelfAttentionKind::Uniform
        | SelfAttentionKind::SharedQk
        | SelfAttentionKind::Linformer { is_learned: false, .. }
        | SelfAttentionKind::Additive => None,
    }
}
