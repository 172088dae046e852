//! An attention of a trace that has taps: no model runs.

use std::collections::BTreeMap;

use super::names::Places;
use super::{ExplainError, Explanation, check_head_of, check_query, choice, steps};
use crate::model::config::StackConfig;
use crate::model::{AttentionKind, HeadName};
use crate::sorting;
use crate::trace::{Anatomy, Trace, TracedSentence, TracedTap};
use crate::transformer::Tensor;

impl Explanation {
    /// Explains one attention by the taps of a trace, which may come from an untrusted file. `query`: row of the attention map.
    ///
    /// Steps without taps are left out; [`missing`](Self::missing) has their names.
    ///
    /// # Errors
    /// [`ExplainError::NoTaps`] if the trace has no tap of the attention; [`ExplainError::Head`], [`ExplainError::Query`],
    /// [`ExplainError::Empty`] if there is no such head, query or sentence; [`ExplainError::Tap`] if a tap does not fit.
    pub fn of_trace(
        trace: &Trace,
        sentence: usize,
        head: HeadName,
        query: usize,
    ) -> Result<Self, ExplainError> {
        let sentence = trace.sentences.get(sentence).ok_or(ExplainError::Empty)?;
        let model = trace.anatomy.as_ref().ok_or(ExplainError::NoTaps { head })?;
        check_head_of(model.stack(head.kind), head)?;
        check_query(sentence, head.kind, query)?;
        let places = Places::new(model, head);
        let wanted = places.taps();
        let taps = taps_of(sentence, model, head, &wanted)?;
        if !taps.keys().any(|name| name.starts_with(&format!("{}.", places.attention))) {
            return Err(ExplainError::NoTaps { head });
        }
        let pieces = pieces_of(sentence);
        let seen = steps::Seen { taps: &taps, places: &places, model, query };
        let missing = wanted.into_iter().filter(|name| !taps.contains_key(name)).collect();
        let piece = |id| pieces.get(&id).map(|piece| (*piece).to_owned());
        Ok(Self { missing, ..Self::seen(&seen, sentence, piece) })
    }

    /// As [`of_trace`](Self::of_trace), for a token as in [`ExplainRequest`](super::ExplainRequest::token).
    ///
    /// # Errors
    /// As [`of_trace`](Self::of_trace); [`ExplainError::Token`] if no sentence has the token.
    pub fn of_token(trace: &Trace, head: HeadName, token: &str) -> Result<Self, ExplainError> {
        let (sentence, query) = choice::find(&trace.sentences, head.kind, token)?;
        Self::of_trace(trace, sentence, head, query)
    }

    /// The last layer of a kind that has taps in a trace; the last one of the model if there are none. `None` for a trace without
    /// taps.
    pub fn last_layer(trace: &Trace, kind: AttentionKind) -> Option<usize> {
        let model = trace.anatomy.as_ref()?;
        let layers = model.stack(kind).layers;
        let has_taps = |layer: &usize| {
            let place = Places::new(model, HeadName { kind, layer: *layer, head: 0 }).attention + ".";
            trace.sentences.iter().flat_map(|sentence| &sentence.taps).any(|tap| tap.name.starts_with(&place))
        };
        (0..layers).rev().find(has_taps).or(layers.checked_sub(1))
    }
}

/// The wanted taps of a sentence, with the axis of the batch. Those that do not fit its tokens are refused.
fn taps_of(
    sentence: &TracedSentence,
    model: &Anatomy,
    head: HeadName,
    wanted: &[String],
) -> Result<BTreeMap<String, Tensor>, ExplainError> {
    let lengths = [sentence.query_tokens(head.kind).len(), sentence.key_tokens(head.kind).len()];
    let mut taps = BTreeMap::new();
    for TracedTap { name, shape, values } in sentence.taps.iter().filter(|tap| wanted.contains(&tap.name)) {
        let expected = shape_of(name, model, head, lengths);
        if *shape != expected || expected.iter().product::<usize>() != values.len() {
            return Err(ExplainError::Tap { name: name.clone(), shape: shape.clone(), expected });
        }
        let is_weight = matches!(point(name), "scale" | "shift");
        let shape = if is_weight { expected } else { [&[1], &expected[..]].concat() };
        taps.insert(name.clone(), Tensor { shape, data: values.clone() });
    }
    Ok(taps)
}

/// The last part of a tap's name.
fn point(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or_default()
}

/// The shape of a tap of a head's layer or stack.
fn shape_of(name: &str, model: &Anatomy, head: HeadName, [queries, keys]: [usize; 2]) -> Vec<usize> {
    let &StackConfig { heads, d_k, d_v, ffn_width, .. } = model.stack(head.kind);
    match point(name) {
        "queries" => vec![heads, queries, d_k],
        "keys" => vec![heads, keys, d_k],
        "values" => vec![heads, keys, d_v],
        "context" => vec![heads, queries, d_v],
        "products" | "scores" | "masked_scores" | "weights" => vec![heads, queries, keys],
        "inner" => vec![queries, ffn_width],
        "logits" => vec![queries, model.vocabulary],
        "mean" | "variance" | "mean_square" => vec![queries],
        "scale" | "shift" => vec![model.d_model],
        _ => vec![queries, model.d_model],
    }
}

/// The spellings of target tokens that a trace knows: its own, and the alternatives.
fn pieces_of(sentence: &TracedSentence) -> BTreeMap<u32, &str> {
    let own = sentence.target_tokens.iter().map(|target| (target.token.id, &*target.token.piece));
    let others = sentence.target_tokens.iter().flat_map(|target| &target.alternatives);
    sorting::map_of(own.chain(others.map(|other| (other.id, &*other.piece))))
}
