//! The steps of an explanation, from the tapped tensors of a pass.

use std::collections::BTreeMap;

use serde::Serialize;

use super::kind::StepKind;
use super::names::Places;
use super::{Candidate, words};
use crate::model::AttentionKind;
use crate::model::config::NormKind;
use crate::trace::Anatomy;
use crate::transformer::Tensor;

/// Most probable tokens of an explanation.
pub const CANDIDATES: usize = 8;

/// Numbers of a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Numbers {
    /// Name in the formula, `q` for example.
    pub name: String,
    /// Name of the [tap](crate::transformer::taps).
    pub tap: String,
    /// Sizes, outermost first; empty for one number.
    pub shape: Vec<usize>,
    /// Values, row-major; minus infinity (`null` in JSON) where the mask hides a key.
    pub values: Vec<f32>,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// The kind.
    pub kind: StepKind,
    /// Title.
    pub title: &'static str,
    /// Formula with the shape of each part, `x [512] · W_Q [512, 64] → q [64]` for example.
    pub formula: String,
    /// One line of reason.
    pub why: &'static str,
    /// Section of the paper.
    pub section: &'static str,
    /// Numbers in the order of computation.
    pub numbers: Vec<Numbers>,
}

/// What a pass saw.
pub(super) struct Seen<'a> {
    pub taps: &'a BTreeMap<String, Tensor>,
    pub places: &'a Places,
    pub model: &'a Anatomy,
    pub query: usize,
}

impl Seen<'_> {
    pub fn steps(&self) -> Vec<Step> {
        let first = self.model.norm_first;
        let attention = &self.places.attention;
        let mut steps = vec![self.embedding(), self.input()];
        if first {
            steps.push(self.step(StepKind::NormBefore, self.norm_formula(), self.norm(attention, "norm.")));
        }
        steps.extend(self.scores());
        steps.extend(self.contexts());
        if !first {
            steps.push(self.step(StepKind::NormAfter, self.norm_formula(), self.norm(attention, "norm.")));
        }
        steps.push(self.feed_forward());
        steps.extend(self.end());
        // a part that is switched off has no numbers
        steps.retain(|step| step.kind == StepKind::Logits || !step.numbers.is_empty());
        steps
    }

    /// The most probable tokens. `piece`: the spelling of a token, if it is known.
    pub fn candidates(&self, piece: impl Fn(u32) -> Option<String>) -> Vec<Candidate> {
        let Some(logits) = self.row("logits", "logits") else { return Vec::new() };
        let logits = logits.values;
        let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = logits.iter().map(|&logit| f64::from(logit - largest).exp()).sum();
        let mut best: Vec<usize> = Vec::new();
        for (id, logit) in logits.iter().enumerate() {
            let place = best.partition_point(|&better| logits[better].total_cmp(logit).is_ge());
            if place < CANDIDATES {
                best.insert(place, id);
                best.truncate(CANDIDATES);
            }
        }
        let candidate = |id: usize| Candidate {
            id: id as u32,
            piece: piece(id as u32).unwrap_or_else(|| format!("#{id}")),
            logit: logits[id],
            probability: (f64::from(logits[id] - largest).exp() / sum) as f32,
        };
        best.into_iter().map(candidate).collect()
    }

    fn step(&self, kind: StepKind, formula: String, numbers: Vec<Option<Numbers>>) -> Step {
        let words::Words { title, why, section } = words::of(kind, self.model, self.places.head.kind);
        Step { kind, title, formula, why, section, numbers: numbers.into_iter().flatten().collect() }
    }

    /// The row of this query, `[width]`; a vector of the model as it is; one number of each row.
    fn row(&self, name: &str, tap: &str) -> Option<Numbers> {
        let Tensor { shape, data } = self.taps.get(tap)?;
        let (shape, values) = match shape[..] {
            [_, length] if length > self.query => (Vec::new(), vec![data[self.query]]),
            [_, _, width] => (vec![width], data.chunks_exact(width).nth(self.query)?.to_vec()),
            [width] => (vec![width], data.clone()),
            _ => return None,
        };
        Some(Numbers { name: name.to_owned(), tap: tap.to_owned(), shape, values })
    }

    /// Values of the head, `[rows, width]`, or only those of this query, `[width]`.
    fn head(&self, name: &str, point: &str, all: bool) -> Option<Numbers> {
        let tap = format!("{}.{point}", self.places.attention);
        let Tensor { shape, data } = self.taps.get(&tap)?;
        let &[_, _, rows, width] = &shape[..] else { return None };
        let values = data.chunks_exact(rows * width).nth(self.places.head.head)?;
        let (shape, values) = match all {
            true => (vec![rows, width], values.to_vec()),
            false => (vec![width], values.chunks_exact(width).nth(self.query)?.to_vec()),
        };
        Some(Numbers { name: name.to_owned(), tap, shape, values })
    }

    fn d_model(&self) -> usize {
        self.model.d_model
    }

    fn embedding(&self) -> Step {
        let named = self.places.embedding().into_iter().map(|tap| {
            let name = tap.split_once("embedding.").map_or("sum", |(_, name)| name);
            self.row(if name == "norm.output" { "norm" } else { name }, &tap)
        });
        let numbers: Vec<_> = named.collect();
        let d = self.d_model();
        let scale = match self.model.embedding_scale {
            1.0 => String::new(),
            scale => format!(" · {scale:.2}"),
        };
        let has_positions = numbers.iter().flatten().any(|numbers| numbers.name == "position");
        let position = if has_positions { format!(" + position [{d}]") } else { String::new() };
        self.step(StepKind::Embedding, format!("E[token] [{d}]{scale}{position} → [{d}]"), numbers)
    }

    fn input(&self) -> Step {
        let d = self.d_model();
        let formula = match self.places.head.layer {
            0 if self.places.head.kind != AttentionKind::Cross => format!("embedding → x [{d}]"),
            _ => format!("blocks below → x [{d}]"),
        };
        let tap = format!("{}.input", self.places.attention);
        self.step(StepKind::Input, formula, vec![self.row("x", &tap)])
    }

    fn norm_formula(&self) -> String {
        let d = self.d_model();
        match self.model.norm {
            NormKind::Layer => format!("(x − mean) / √(variance + ε) · γ + β → [{d}]"),
            NormKind::Batch => format!("(x − running mean) / √(running variance + ε) · γ + β → [{d}]"),
            NormKind::Rms => format!("x / √(mean of x² + ε) · γ → [{d}]"),
        }
    }

    fn norm(&self, place: &str, prefix: &str) -> Vec<Option<Numbers>> {
        let parts = self.places.norm_parts().iter();
        parts.map(|part| self.row(part, &format!("{place}.{prefix}{part}"))).collect()
    }

    /// From the query to the weights.
    fn scores(&self) -> Vec<Step> {
        let stack = self.model.stack(self.places.head.kind);
        let (d, d_k) = (self.d_model(), stack.d_k);
        let keys = self.head("k", "keys", true);
        let (products, scaled) = (self.head("q·k", "products", false), self.head("scores", "scores", false));
        let masked = self.head("masked", "masked_scores", false);
        let weights = self.head("weights", "weights", false);
        let of_keys = keys.as_ref().map(|keys| keys.shape[0]);
        // a trace may have some of the numbers only
        let rows = [&products, &scaled, &masked, &weights].into_iter().flatten();
        let n = of_keys.or(rows.map(|row| row.values.len()).next()).unwrap_or(0);
        let from = if self.places.head.kind == AttentionKind::Cross { "memory" } else { "x" };
        let biased = self.model.relative_positions && self.places.head.kind != AttentionKind::Cross;
        let bias = if biased { " + bias by distance" } else { "" };
        let trained = self.model.score_factor(self.places.head.kind, self.places.head.layer);
        let factor = products.as_ref().zip(scaled.as_ref()).map_or(trained, factor_between);
        let is_trained = (factor - trained).abs() <= 1e-4 * trained.abs();
        let scale = match if is_trained { trained } else { factor } {
            1.0 => format!("q·k [{n}] → scores [{n}]"),
            factor => format!("q·k [{n}] · {factor:.4} → scores [{n}]"),
        };
        let mut scaling = self.step(StepKind::Scale, scale, vec![scaled]);
        if !is_trained {
            let words = words::switched_scale();
            (scaling.title, scaling.why, scaling.section) = (words.title, words.why, words.section);
        }
        vec![
            self.step(
                StepKind::Query,
                format!("x [{d}] · W_Q [{d}, {d_k}] → q [{d_k}]"),
                vec![self.head("q", "queries", false)],
            ),
            self.step(
                StepKind::Keys,
                format!("{from} [{n}, {d}] · W_K [{d}, {d_k}] → k [{n}, {d_k}]"),
                vec![keys],
            ),
            self.step(StepKind::Products, format!("q [{d_k}] · kᵀ [{d_k}, {n}] → [{n}]"), vec![products]),
            scaling,
            self.step(StepKind::Mask, format!("scores [{n}]{bias} + mask [{n}] → [{n}]"), vec![masked]),
            self.step(StepKind::Softmax, format!("exp(sᵢ) / Σ exp(sⱼ) → weights [{n}]"), vec![weights]),
        ]
    }

    /// From the values to the residual sum.
    fn contexts(&self) -> Vec<Step> {
        let stack = self.model.stack(self.places.head.kind);
        let (d, d_v, heads) = (self.d_model(), stack.d_v, stack.heads);
        let width = stack.value_width();
        let values = self.head("v", "values", true);
        let n = values.as_ref().map_or(0, |values| values.shape[0]);
        let context = self.head("context", "context", false);
        let attention = &self.places.attention;
        vec![
            self.step(
                StepKind::Values,
                format!("weights [{n}] · v [{n}, {d_v}] → context [{d_v}]"),
                vec![values, context],
            ),
            self.step(
                StepKind::Heads,
                format!("{heads} contexts [{d_v}] → [{width}]"),
                vec![self.side_by_side()],
            ),
            self.step(
                StepKind::Output,
                format!("heads [{width}] · W^O [{width}, {d}] → [{d}]"),
                vec![self.row("output", &format!("{attention}.output"))],
            ),
            self.step(
                StepKind::Residual,
                format!("x [{d}] + output [{d}] → [{d}]"),
                vec![self.row("sum", &format!("{attention}.residual"))],
            ),
        ]
    }

    /// The contexts of all heads for this query, `[heads * d_v]`.
    fn side_by_side(&self) -> Option<Numbers> {
        let tap = format!("{}.context", self.places.attention);
        let Tensor { shape, data } = self.taps.get(&tap)?;
        let &[_, heads, rows, width] = &shape[..] else { return None };
        let by_head = data.chunks_exact(rows * width);
        let values: Vec<f32> =
            by_head.flat_map(|head| &head[self.query * width..][..width]).copied().collect();
        Some(Numbers { name: "heads".to_owned(), tap, shape: vec![heads * width], values })
    }

    fn feed_forward(&self) -> Step {
        let place = &self.places.feed_forward;
        let stack = self.model.stack(self.places.head.kind);
        let (d, inner) = (self.d_model(), stack.ffn_width);
        let mut numbers = Vec::new();
        let parts = ["inner", "output", "residual"].map(|part| self.row(part, &format!("{place}.{part}")));
        let norm = self.norm(place, "norm.");
        match self.model.norm_first {
            true => numbers.extend(norm.into_iter().chain(parts)),
            false => numbers.extend(parts.into_iter().chain(norm)),
        }
        self.step(StepKind::FeedForward, format!("[{d}] · W₁ → [{inner}] → · W₂ → [{d}]"), numbers)
    }

    fn end(&self) -> Vec<Step> {
        let d = self.d_model();
        let mut steps = Vec::new();
        let taps = self.places.end();
        if !taps.is_empty() {
            let numbers = taps.iter().map(|tap| {
                let name = tap.rsplit('.').next().unwrap_or_default();
                let is_norm = tap.contains(".norm.");
                self.row(if name == "output" && is_norm { "norm" } else { name }, tap)
            });
            let formula = match taps.len() {
                1 => format!("[{d}]"),
                _ => format!("final norm → [{d}]"),
            };
            steps.push(self.step(StepKind::End, formula, numbers.collect()));
        }
        if self.places.has_logits() {
            let vocabulary = self.model.vocabulary;
            let formula = format!("[{d}] · Eᵀ [{d}, {vocabulary}] → logits [{vocabulary}] → softmax");
            // all logits would be most of an explanation's bytes; the candidates have the largest
            steps.push(self.step(StepKind::Logits, formula, Vec::new()));
        }
        steps
    }
}

/// The factor from products to scores, measured at the largest product.
fn factor_between((products, scores): (&Numbers, &Numbers)) -> f32 {
    let pairs = products.values.iter().zip(&scores.values);
    let largest = pairs.max_by(|(a, _), (b, _)| a.abs().total_cmp(&b.abs()));
    largest.map_or(1.0, |(product, score)| if *product == 0.0 { 1.0 } else { score / product })
}
