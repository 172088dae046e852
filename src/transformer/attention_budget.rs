use super::band_layout::band_layout;
use super::forward::ForwardSelection;
use super::kept_attention::LeftOut;
use crate::model::AttentionKind;
use crate::model::config::ModelConfig;
use crate::sorting;

/// Kinds of attention to keep, and a limit of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeepAttention {
    /// Kinds of attention.
    pub kinds: Vec<AttentionKind>,
    /// Bytes for the attention of all sentences. [`KeptAttention::left_out`](super::KeptAttention::left_out) lists
    /// layers without room.
    pub memory: u64,
}

impl Default for KeepAttention {
    fn default() -> Self {
        Self { kinds: AttentionKind::ALL.to_vec(), memory: 256 << 20 }
    }
}

/// Numbers of tokens of a sentence whose attention is kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lengths {
    pub source: usize,
    /// Global tokens that the request names, in order.
    pub globals: Vec<usize>,
    /// Tokens that the decoder reads.
    pub target: usize,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Share {
    pub selection: ForwardSelection,
    pub left_out: Vec<LeftOut>,
}

impl Share {
    /// Takes the encoder layers with bands out of the selection.
    pub fn take_banded(&mut self, config: &ModelConfig, lengths: &Lengths) -> Vec<usize> {
        let is_banded =
            |layer: &usize| band_layout(config, *layer, lengths.source, &lengths.globals).is_some();
        let all = std::mem::take(&mut self.selection.encoder_attentions);
        let (banded, others) = all.into_iter().partition(is_banded);
        self.selection.encoder_attentions = others;
        banded
    }
}

/// Shares memory between sentences, in this order: cross-attention, the decoder's, the encoder's; of each kind the last
/// layers first, which are nearest to the result; of each layer the first sentences. No layer is larger than a `buffer`
/// of the device.
///
/// * `left`: bytes left of [`KeepAttention::memory`]; reduced by the share
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
        for layer in (0..config.attention_layers(kind)).rev() {
            for (share, lengths) in shares.iter_mut().zip(sentences) {
                let elements = elements(config, (kind, layer), stack.heads, lengths);
                let bytes = 4 * elements.iter().sum::<u64>();
                let reason = match () {
                    () if elements.iter().any(|&elements| 4 * elements > buffer) => {
                        format!("the device has buffers of {buffer} bytes at most")
                    }
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
            sorting::sort(selection(&mut share.selection, kind));
        }
        sorting::sort_by_key(&mut share.left_out, |left_out| left_out.attention);
    }
    shares
}

/// Elements of a layer: of all queries, and of global tokens.
fn elements(
    config: &ModelConfig,
    (kind, layer): (AttentionKind, usize),
    heads: usize,
    lengths: &Lengths,
) -> [u64; 2] {
    let queries = if kind.queries_target() { lengths.target } else { lengths.source };
    let keys = if kind.keys_target() { lengths.target } else { lengths.source };
    let layout = match kind {
        AttentionKind::Encoder => band_layout(config, layer, lengths.source, &lengths.globals),
        AttentionKind::Decoder | AttentionKind::Cross => None,
    };
    match layout {
        Some(layout) => layout.elements(heads, queries, keys).map(|elements| elements as u64),
        None => [(heads * queries * keys) as u64, 0],
    }
}

fn selection(selection: &mut ForwardSelection, kind: AttentionKind) -> &mut Vec<usize> {
    match kind {
        AttentionKind::Encoder => &mut selection.encoder_attentions,
        AttentionKind::Decoder => &mut selection.decoder_attentions,
        AttentionKind::Cross => &mut selection.cross_attentions,
    }
}
