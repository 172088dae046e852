//! The tree of a sentence's search, for the page.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use wordloom::decode::TreeNode;
use wordloom::trace::{TracedSearch, TracedSentence};

use super::labels::harmless;

const MOST_LISTED: usize = 12;
const LONGEST: usize = 600;

/// Tokens by id, nodes as `[parent, step, id, probability, sum, fate]`, and the best finished hypotheses as `[node, score, text]`.
pub fn of(sentence: &TracedSentence) -> Value {
    let Some(TracedSearch { tree, pieces }) = &sentence.search else { return Value::Null };
    let labels: BTreeMap<u32, String> = pieces.iter().map(|(id, piece)| (*id, label(piece))).collect();
    let node = |node: &TreeNode| {
        let TreeNode { parent, step, token, log_probability, sum, fate } = *node;
        json!([parent, step, token, rounded(log_probability.exp()), rounded(sum), fate])
    };
    let special = sentence.target_tokens.iter().filter(|target| target.token.special);
    let special: BTreeSet<u32> = special.map(|target| target.token.id).collect();
    let text = |node: usize| {
        let tokens = tree.tokens(node).into_iter().filter(|token| !special.contains(token));
        let text: String = tokens.filter_map(|token| pieces.get(&token)).map(String::as_str).collect();
        harmless(text.replace('▁', " ").trim(), LONGEST)
    };
    let finished = tree.finished(tree.length_penalty);
    let listed = finished
        .iter()
        .take(MOST_LISTED)
        .map(|&node| json!([node, rounded(tree.nodes[node].score(tree.length_penalty)), text(node)]));
    json!({
        "beams": tree.beams,
        "penalty": tree.length_penalty,
        "labels": labels,
        "nodes": tree.nodes.iter().map(node).collect::<Vec<Value>>(),
        "finished": finished.len(),
        "listed": listed.collect::<Vec<Value>>(),
    })
}

fn label(piece: &str) -> String {
    match piece.replace('▁', " ").trim() {
        "" => "␣".into(),
        piece => harmless(piece, 40),
    }
}

/// Rounds to the shown digits, to keep the page small.
fn rounded(value: f32) -> f64 {
    (f64::from(value) * 1e4).round() / 1e4
}
