//! Trace files come from anywhere. Whatever stands in one, reading it says what is wrong, or gives a trace of which every view
//! can be made.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wordloom::heatmap::{View, paint};
use wordloom::trace::{AttentionKind, LayerAttention, Trace, TracedSentence};

/// Ranks of larger maps take more time than they are worth here.
const MOST_WEIGHTS: usize = 1 << 12;

fuzz_target!(|bytes: &[u8]| {
    let Ok(trace) = Trace::from_bytes(bytes) else { return };
    let tensors = trace.to_safetensors().expect("what was read can be written");
    let again = Trace::from_bytes(&tensors).expect("what was written can be read");
    for (again, sentence) in again.sentences.iter().zip(&trace.sentences) {
        assert_eq!(again.attention, sentence.attention);
        assert_eq!(again.target_tokens.len(), sentence.target_tokens.len());
    }
    let json = trace.to_json().expect("what was read can be written");
    Trace::from_bytes(json.as_bytes()).expect("what was written can be read");
    let layers = trace.sentences.iter().flat_map(|sentence| &sentence.attention);
    if layers.map(|layer| layer.weights.len()).sum::<usize>() <= MOST_WEIGHTS {
        trace.statistics();
    }
    trace.sentences.iter().for_each(look);
});

fn look(sentence: &TracedSentence) {
    sentence.alignment();
    for kind in [AttentionKind::Encoder, AttentionKind::Decoder, AttentionKind::Cross] {
        let layers: Vec<&LayerAttention> = sentence.layers(kind).collect();
        for layer in &layers {
            assert_eq!(sentence.query_labels(kind).len(), layer.queries);
            assert_eq!(sentence.key_labels(kind).len(), layer.keys);
            assert!(sentence.column_labels(kind).len() >= layer.columns());
            layer.averaged();
            layer.row(0, layer.queries - 1);
        }
        if let Ok(shape) = wordloom::heatmap::shape_of(&layers) {
            paint(&layers, &View::fit(shape, [40, 30])).expect("a sound view");
        }
    }
    if let Some(search) = &sentence.search {
        for node in search.tree.finished(1.0) {
            search.tree.tokens(node);
        }
    }
}
