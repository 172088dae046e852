//! The page: a template, and the trace as data of its script.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use wordloom::trace::{AttentionKind, LayerAttention, TargetToken, Token, Trace, TracedSentence, TracedTap};

use super::labels::{harmless, name};
use super::{search, statistics};

const TEMPLATE: &str = include_str!("viewer.html");
const STYLE: &str = include_str!("viewer.css");
const SCRIPT: &str = include_str!("viewer.js");
/// Characters of the longest label, also in tooltips.
const LONGEST_LABEL: usize = 40;

/// Makes the page of a trace.
pub fn page(trace: &Trace) -> String {
    let data = json!({
        "model": harmless(&trace.model, 200),
        "sentences": trace.sentences.iter().map(sentence).collect::<Vec<Value>>(),
        "maps": {
            "viridis": table(&colorous::VIRIDIS),
            "cividis": table(&colorous::CIVIDIS),
            "blues": table(&colorous::BLUES),
        },
    });
    // in a script element only `</script` and `<!--` are special
    let data = data.to_string().replace('<', "\\u003c");
    let mut page = String::with_capacity(TEMPLATE.len() + STYLE.len() + SCRIPT.len() + data.len());
    let mut rest = TEMPLATE;
    for (mark, part) in [("/*style*/", STYLE), ("{\"data\":0}", &data), ("/*script*/", SCRIPT)] {
        let (before, after) = rest.split_once(mark).expect("the template has every mark");
        page.extend([before, part]);
        rest = after;
    }
    page + rest
}

fn table(gradient: &colorous::Gradient) -> String {
    (0..256).map(|step| format!("{:x}", gradient.eval_rational(step, 256))).collect()
}

fn sentence(sentence: &TracedSentence) -> Value {
    let kinds = AttentionKind::ALL.map(|kind| {
        json!({
            "kind": kind,
            "name": name(kind),
            "queries": labels(sentence.query_labels(kind)),
            "keys": labels(sentence.column_labels(kind)),
            "layers": layers_of(sentence, kind).map(|own| layer(own, sentence.column_labels(kind).len())).collect::<Vec<Value>>(),
        })
    });
    let left_out = sentence.left_out.iter().map(|left_out| match left_out.attention {
        Some((kind, layer)) => format!("{} of layer {layer}", name(kind)),
        None => "alternatives".to_owned(),
    });
    let too_long =
        AttentionKind::ALL.into_iter().flat_map(|kind| sentence.layers(kind)).filter(|layer| !fits(layer));
    let too_long = too_long.map(|layer| format!("{} of layer {}", name(layer.kind), layer.layer));
    let left_out: Vec<String> = left_out.chain(too_long).collect();
    let target = |target: &TargetToken| {
        json!({
            "probability": target.log_probability.map(f32::exp),
            "alternatives": target.alternatives.iter().map(|other| {
                json!([harmless(other.piece.trim_start_matches('▁'), LONGEST_LABEL), other.log_probability.exp()])
            }).collect::<Vec<Value>>(),
        })
    };
    json!({
        "source": sentence.source,
        "target": sentence.target,
        "prompt": sentence.prompt,
        "sourceRanges": ranges(&sentence.source, sentence.source_tokens.iter()),
        "targetRanges": ranges(&sentence.target, sentence.target_tokens.iter().map(|token| &token.token)),
        "tokens": sentence.target_tokens.iter().map(target).collect::<Vec<Value>>(),
        "kinds": kinds,
        "heads": sentence.statistics().iter().map(statistics::head).collect::<Vec<Value>>(),
        "alignment": pairs(sentence),
        "search": search::of(sentence),
        "leftOut": left_out,
        "taps": sentence.taps.iter().map(tap).collect::<Vec<Value>>(),
    })
}

/// Name, shape, least and largest finite value of a tap. The numbers themselves stay in the trace.
fn tap(TracedTap { name, shape, values }: &TracedTap) -> Value {
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let [least, most] = [finite().fold(f32::INFINITY, f32::min), finite().fold(f32::NEG_INFINITY, f32::max)];
    let shape = shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" × ");
    json!([harmless(name, 200), shape, format!("{least:.4}"), format!("{most:.4}")])
}

fn pairs(sentence: &TracedSentence) -> Vec<String> {
    let [source, target] = [&sentence.source, &sentence.target]
        .map(|text| text.split_whitespace().map(|word| harmless(word, LONGEST_LABEL)).collect::<Vec<_>>());
    let links = sentence.alignment().links.into_iter();
    links.map(|(from, to)| format!("{} – {}", source[from], target[to])).collect()
}

fn labels(labels: Vec<String>) -> Vec<String> {
    labels.iter().map(|label| harmless(label, LONGEST_LABEL)).collect()
}

/// Ranges in UTF-16 units, as in JavaScript.
fn ranges<'a>(text: &str, tokens: impl Iterator<Item = &'a Token>) -> Vec<Value> {
    let units = |bytes: usize| text[..bytes].encode_utf16().count();
    tokens
        .map(|token| token.range.map_or(Value::Null, |[first, end]| json!([units(first), units(end)])))
        .collect()
}

/// Cells of the largest map of a page, which has a number and a pixel for each.
const MOST_CELLS: usize = 1 << 20;

fn fits(layer: &LayerAttention) -> bool {
    layer.queries.saturating_mul(layer.columns()) <= MOST_CELLS
}

fn layers_of(sentence: &TracedSentence, kind: AttentionKind) -> impl Iterator<Item = &LayerAttention> {
    sentence.layers(kind).filter(|layer| fits(layer))
}

/// Weights as 16-bit numbers, 65535 for 1: smaller than text, finer than colours. Every row has all `columns` of the kind.
fn layer(layer: &LayerAttention, columns: usize) -> Value {
    let mut bytes = Vec::with_capacity(2 * layer.heads * layer.queries * columns);
    for head in 0..layer.heads {
        for query in 0..layer.queries {
            let row = layer.row(head, query);
            let weights = row.iter().copied().chain(std::iter::repeat(0.0)).take(columns);
            let weights = weights.map(|weight| (weight.clamp(0.0, 1.0) * 65535.0).round() as u16);
            bytes.extend(weights.flat_map(u16::to_le_bytes));
        }
    }
    json!({ "layer": layer.layer, "heads": layer.heads, "weights": BASE64_STANDARD.encode(bytes) })
}
