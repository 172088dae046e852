//! A trace without its weights, with JavaScript's names. Ranges count UTF-16 units, as JavaScript's strings do.

use serde::Serialize;
use wordloom::trace::{Alternative, AttentionKind, LeftOut, Token, TracedSentence};

use super::weights::{Kept, Weights};

#[derive(Serialize)]
pub struct Described<'a> {
    model: &'a str,
    sentences: Vec<Sentence<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sentence<'a> {
    source: &'a str,
    target: &'a str,
    prompt: usize,
    source_tokens: Vec<Traced<'a>>,
    target_tokens: Vec<Traced<'a>>,
    kinds: Vec<Kept>,
    left_out: Vec<Missing<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Traced<'a> {
    id: u32,
    piece: &'a str,
    label: String,
    special: bool,
    range: Option<[usize; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    log_probability: Option<f32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    alternatives: Vec<Other<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Other<'a> {
    id: u32,
    piece: &'a str,
    log_probability: f32,
}

#[derive(Serialize)]
struct Missing<'a> {
    kind: Option<AttentionKind>,
    layer: Option<usize>,
    bytes: u64,
    reason: &'a str,
}

pub fn describe(weights: &Weights) -> Described<'_> {
    let trace = weights.trace();
    let sentences = trace.sentences.iter().enumerate().map(|(index, own)| {
        let kinds = AttentionKind::ALL.into_iter().filter_map(|kind| weights.kept(index, kind));
        sentence(own, kinds.collect())
    });
    Described { model: &trace.model, sentences: sentences.collect() }
}

fn sentence(sentence: &TracedSentence, kinds: Vec<Kept>) -> Sentence<'_> {
    let TracedSentence { source, target, source_tokens, target_tokens, .. } = sentence;
    let (in_source, in_target) = (Units::new(source), Units::new(target));
    Sentence {
        source,
        target,
        prompt: sentence.prompt,
        source_tokens: source_tokens.iter().map(|token| traced(token, source, &in_source)).collect(),
        target_tokens: target_tokens
            .iter()
            .map(|one| Traced {
                log_probability: one.log_probability,
                alternatives: one.alternatives.iter().map(other).collect(),
                ..traced(&one.token, target, &in_target)
            })
            .collect(),
        kinds,
        left_out: sentence.left_out.iter().map(missing).collect(),
    }
}

fn traced<'a>(token: &'a Token, text: &str, units: &Units) -> Traced<'a> {
    Traced {
        id: token.id,
        piece: &token.piece,
        label: token.label(text),
        special: token.special,
        range: token.range.map(|range| range.map(|byte| units.before(byte))),
        log_probability: None,
        alternatives: Vec::new(),
    }
}

fn other(alternative: &Alternative) -> Other<'_> {
    let Alternative { id, ref piece, log_probability } = *alternative;
    Other { id, piece, log_probability }
}

fn missing(left_out: &LeftOut) -> Missing<'_> {
    let (kind, layer) = left_out.attention.unzip();
    Missing { kind, layer, bytes: left_out.bytes, reason: &left_out.reason }
}

/// Number of UTF-16 units before each byte of a text.
struct Units(Vec<usize>);

impl Units {
    fn new(text: &str) -> Self {
        let mut before = vec![0; text.len() + 1];
        let mut count = 0;
        for (byte, character) in text.char_indices() {
            before[byte] = count;
            count += character.len_utf16();
        }
        before[text.len()] = count;
        Self(before)
    }

    /// `byte` begins a character, or is the end; the reader of traces checks that.
    fn before(&self, byte: usize) -> usize {
        self.0.get(byte).copied().unwrap_or(0)
    }
}
