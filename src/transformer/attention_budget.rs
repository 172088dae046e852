//! Which attention of long texts is kept.

use super::forward::ForwardSelection;
use super::kept_attention::LeftOut;
use crate::model::AttentionKind;
use crate::model::config::ModelConfig;

/// Which attention is kept, and in how much memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeepAttention {
    /// The kinds of attention.
    pub kinds: Vec<AttentionKind>,
    /// Memory for the attention of all sentences together, bytes. [`KeptAttention::left_out`](super::KeptAttention::left_out)
    /// lists what it has no room for.
    pub memory: u64,
}

impl Default for KeepAttention {
    fn default() -> Self {
        Self { kinds: AttentionKind::ALL.to_vec(), memory: 256 << 20 }
    }
}

/// Tokens of a sentence whose attention is kept.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lengths {
    pub source: usize,
    /// Tokens that the decoder reads.
    pub target: usize,
}

/// What is kept of one sentence, and what is not.
#[derive(Clone, Debug, Default)]
pub(crate) struct Share {
    pub selection: ForwardSelection,
    pub left_out: Vec<LeftOut>,
}

/// Shares memory between sentences. What most ask for comes first: cross-attention, then the decoder's, then the
/// encoder's; of each kind the last layers, which are nearest to the result; of each layer the first sentences. No layer
/// is larger than a `buffer` of the device.
///
/// * `left`: of [`KeepAttention::memory`], before and after
pub(crate) fn share(
    config: &ModelConfig,
    sentences: &[Lengths],
    keep: &KeepAttention,
    left: &mut u64,
    buffer: u64,
) -> Vec<Share> {
    let mut shares = vec![Share::default(); sentences.len()];
    let memory = keep.memory;
    let by_importance = [AttentionKind::Cross, AttentionKind::Decoder, AttentionKind::Encoder];
    for kind in by_importance.into_iter().filter(|kind| keep.kinds.contains(kind)) {
        let stack = kind.stack(config);
        for layer in (0..stack.layers).rev() {
            for (share, lengths) in shares.iter_mut().zip(sentences) {
                let queries = if kind.queries_target() { lengths.target } else { lengths.source };
                let keys = if kind.keys_target() { lengths.target } else { lengths.source };
                let bytes = 4 * (stack.heads * queries * keys) as u64;
                let reason = match () {
                    () if bytes > buffer => format!("the device has buffers of {buffer} bytes at most"),
                    () if bytes > *left => format!("a trace was to have {memory} bytes of attention at most"),
                    () => {
                        *left -= bytes;
                        selection(&mut share.selection, kind).push(layer);
                        continue;
                    }
                };
                share.left_out.push(LeftOut { attention: Some((kind, layer)), bytes, reason });
            }
        }
    }
    for share in &mut shares {
        for kind in AttentionKind::ALL {
            selection(&mut share.selection, kind).sort_unstable();
        }
        share.left_out.sort_by_key(|left_out| left_out.attention);
    }
    shares
}

fn selection(selection: &mut ForwardSelection, kind: AttentionKind) -> &mut Vec<usize> {
    match kind {
        AttentionKind::Encoder => &mut selection.encoder_attentions,
        AttentionKind::Decoder => &mut selection.decoder_attentions,
        AttentionKind::Cross => &mut selection.cross_attentions,
    }
}
