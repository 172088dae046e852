//! Study *content*: how well a linear probe recovers the input of a layer from the outputs of its heads.

use nalgebra::DMatrix;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::json;
use wordloom::trace::AttentionKind;

use super::attention::Attentions;
use super::findings::{Claim, Data, Findings, Measured};
use super::numeric::Regression;
use super::subject::Subject;
use crate::CliError;
use crate::study::chart::{Axis, Strip, strips};
use crate::study::report::Figure;
use crate::study::statistics::{Direction, Summary, Verdict};

/// Penalty of the probe for each token that it learns from, with outputs of variance 1.
const RIDGE: f64 = 1e-3;
/// Parts of the sentences: a probe learns from all but one, and is tested on that one.
const PARTS: usize = 5;

/// The explained variance of the states of one layer, of each part.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct LayerContent {
    kind: AttentionKind,
    layer: usize,
    tokens: usize,
    /// From each head alone.
    heads: Vec<Vec<f64>>,
    /// From all heads together.
    together: Vec<f64>,
    /// From all heads, of the layer's input at the bottom of the stack: embedding and position.
    bottom: Vec<f64>,
}

/// The inputs and outputs of one layer in each part.
struct Collected {
    kind: AttentionKind,
    layer: usize,
    states: Vec<DMatrix<f64>>,
    bottom: Vec<DMatrix<f64>>,
    heads: Vec<Vec<DMatrix<f64>>>,
}

/// The matrices of the sentences of each part.
type ByPart = [Vec<DMatrix<f64>>; PARTS];

pub fn run(subject: &mut Subject) -> Result<Findings, CliError> {
    subject.load()?;
    subject.begin("content", 1);
    let layers: Vec<LayerContent> = subject.measure("content/layers", |subject| {
        let collected = collect(subject)?;
        let mut layers = Vec::new();
        for one in &collected {
            if subject.cancel.is_cancelled() {
                return Err(CliError::Interrupted);
            }
            layers.push(probe(one));
        }
        Ok(layers)
    })?;
    Ok(findings(&layers, subject))
}

/// Self-attention alone: the input of cross-attention's outputs is another text.
fn collect(subject: &Subject) -> Result<Vec<Collected>, CliError> {
    let kinds: Vec<AttentionKind> =
        subject.kinds().into_iter().filter(|kind| *kind != AttentionKind::Cross).collect();
    let attentions = Attentions::of(&subject.model, &kinds)?;
    let mut all: Vec<(Collected, Vec<ByPart>)> = Vec::new();
    for (number, sentence) in subject.sentences().iter().enumerate() {
        if subject.cancel.is_cancelled() {
            return Err(CliError::Interrupted);
        }
        let pass = subject.pass(&sentence.source, &sentence.target)?;
        let part = number % PARTS;
        for (place, inside) in attentions.open(&pass, &kinds).into_iter().enumerate() {
            let bottom = match inside.attention.kind {
                AttentionKind::Encoder => &pass.encoder_hidden_states[0],
                _ => &pass.decoder_hidden_states[0],
            };
            let outputs = inside.outputs();
            if place == all.len() {
                let (kind, layer) = (inside.attention.kind, inside.attention.layer);
                let none =
                    Collected { kind, layer, states: Vec::new(), bottom: Vec::new(), heads: Vec::new() };
                all.push((none, (0..outputs.len() + 2).map(|_| Default::default()).collect()));
            }
            let slots = &mut all[place].1;
            let matrices = [inside.states, super::attention::matrix(bottom)].into_iter().chain(outputs);
            slots.iter_mut().zip(matrices).for_each(|(slot, matrix)| slot[part].push(matrix));
        }
    }
    let stacked = |slot: &ByPart| slot.iter().map(|part| stack(part)).collect::<Vec<_>>();
    let together = |(one, slots): (Collected, Vec<_>)| Collected {
        states: stacked(&slots[0]),
        bottom: stacked(&slots[1]),
        heads: slots[2..].iter().map(stacked).collect(),
        ..one
    };
    Ok(all.into_iter().map(together).collect())
}

/// Matrices one below the other.
fn stack(matrices: &[DMatrix<f64>]) -> DMatrix<f64> {
    let rows: Vec<_> = matrices.iter().flat_map(|matrix| matrix.row_iter()).collect();
    if rows.is_empty() { DMatrix::zeros(0, 0) } else { DMatrix::from_rows(&rows) }
}

/// Matrices side by side.
fn beside(matrices: &[&DMatrix<f64>]) -> DMatrix<f64> {
    let columns: Vec<_> = matrices.iter().flat_map(|matrix| matrix.column_iter()).collect();
    DMatrix::from_columns(&columns)
}

fn probe(one: &Collected) -> LayerContent {
    let all: Vec<DMatrix<f64>> = (0..PARTS)
        .map(|part| beside(&one.heads.iter().map(|head| &head[part]).collect::<Vec<_>>()))
        .collect();
    LayerContent {
        kind: one.kind,
        layer: one.layer,
        tokens: one.states.iter().map(DMatrix::nrows).sum(),
        heads: one.heads.par_iter().map(|head| explained(head, &one.states)).collect(),
        together: explained(&all, &one.states),
        bottom: explained(&all, &one.bottom),
    }
}

/// Explained variance of each part by a probe that learned from the other parts. Nothing for a part without tokens.
fn explained(inputs: &[DMatrix<f64>], states: &[DMatrix<f64>]) -> Vec<f64> {
    let of_part = |part: usize| {
        let others = |of: &[DMatrix<f64>]| {
            stack(
                &(0..PARTS).filter(|other| *other != part).map(|other| of[other].clone()).collect::<Vec<_>>(),
            )
        };
        let [x, y] = [others(inputs), others(states)];
        // of each column: a value of the outputs
        let variance = x.row_variance().mean().max(f64::MIN_POSITIVE);
        let fitted = Regression::fit(&x, &y, RIDGE * variance * x.nrows() as f64)?;
        (states[part].nrows() > 1).then(|| fitted.explained(&inputs[part], &states[part]))
    };
    (0..PARTS).filter_map(of_part).collect()
}

fn mean(values: &[f64]) -> f64 {
    Summary::of(values).map_or(0.0, |all| all.mean)
}

fn findings(layers: &[LayerContent], subject: &Subject) -> Findings {
    let mut data = Data::new(&["kind", "layer", "from", "of", "explained", "deviation", "parts", "tokens"]);
    for LayerContent { kind, layer, tokens, heads, together, bottom } in layers {
        let of_heads = heads.iter().enumerate().map(|(head, values)| (json!(head), "input", values));
        let all = of_heads
            .chain([(json!("all heads"), "input", together), (json!("all heads"), "embeddings", bottom)]);
        data.rows.extend(all.map(|(from, of, values)| {
            let deviation = Summary::of(values).and_then(|all| all.deviation);
            vec![
                json!(kind),
                json!(layer),
                from,
                json!(of),
                json!(mean(values)),
                json!(deviation),
                json!(values.len()),
                json!(tokens),
            ]
        }));
    }
    Findings {
        claim: "The outputs of attention still say which token they belong to: mixing loses little of the content.",
        source: "Brunner et al. 2020, “On Identifiability in Transformers”, section 4",
        method: vec![
            format!(
                "Ridge regression from the output of a head, the weighted values of a token's query, to the state of the same token \
                 at the beginning of the layer. The probe learns from four fifths of {} sentences and is tested on the rest, five \
                 times. Reported is the share of the variance that it explains.",
                subject.sentences().len()
            ),
            format!(
                "The penalty is {RIDGE} for each token, with outputs of variance 1. Residual connections are not part of the outputs."
            ),
        ],
        claims: claims(layers),
        figures: figures(layers),
        facts: vec![[
            "Tokens".into(),
            layers.iter().map(|layer| layer.tokens).max().unwrap_or(0).to_string(),
            "that a probe learns from or is tested on".into(),
        ]],
        against: vec![
            "A linear probe gives a lower bound: the paper's own probe is not linear, and finds the nearest token.".to_owned(),
            "Few tokens for so many weights: more sentences make the probe of all heads better.".to_owned(),
            "The variance of a state is mostly that of frequent tokens and of positions.".to_owned(),
        ],
        data,
    }
}

fn claims(layers: &[LayerContent]) -> Vec<Claim> {
    let together: Vec<f64> = layers.iter().map(|layer| mean(&layer.together)).collect();
    let heads: Vec<f64> = layers.iter().flat_map(|layer| layer.heads.iter().map(|head| mean(head))).collect();
    let leads: Vec<f64> = layers
        .iter()
        .map(|layer| {
            mean(&layer.together) - layer.heads.iter().map(|head| mean(head)).fold(f64::MIN, f64::max)
        })
        .collect();
    let deeper: Vec<f64> = layers
        .windows(2)
        .filter(|pair| pair[0].kind == pair[1].kind)
        .map(|pair| mean(&pair[1].bottom) - mean(&pair[0].bottom))
        .collect();
    let limit = |values: &[f64], limit: f64| values.iter().map(|value| value - limit).collect::<Vec<f64>>();
    vec![
        Claim {
            claim: "All heads of a layer together keep most of its input.".into(),
            source: "section 4.1",
            prediction: "they explain more than half of the variance (95 % interval over layers)".into(),
            measured: Measured::new("explained", &together, "layers").into_iter().collect(),
            verdict: Verdict::of(Direction::Higher, Summary::of(&limit(&together, 0.5)), 0.0),
            note: String::new(),
        },
        Claim {
            claim: "No head alone keeps as much as all together: heads carry different content.".into(),
            source: "Vaswani et al. 2017, section 3.2.2",
            prediction: "all heads explain more than the best head of the layer (95 % interval of the differences)".into(),
            measured: [
                Measured::new("a head", &heads, "heads"),
                Measured::new("lead of all heads over the best one", &leads, "layers"),
            ]
            .into_iter()
            .flatten()
            .collect(),
            verdict: Verdict::of(Direction::Higher, Summary::of(&leads), 0.0),
            note: String::new(),
        },
        Claim {
            claim: "The token at the bottom is harder to recover, the deeper the layer.".into(),
            source: "section 4.2",
            prediction: "a layer explains less of the embeddings than the one below (95 % interval of the differences)".into(),
            measured: Measured::new("change from layer to layer", &deeper, "steps").into_iter().collect(),
            verdict: Verdict::of(Direction::Lower, Summary::of(&deeper), 0.0),
            note: String::new(),
        },
    ]
}

fn figures(layers: &[LayerContent]) -> Vec<Figure> {
    let rows: Vec<Strip> = layers
        .iter()
        .map(|layer| Strip {
            name: format!("{}, layer {}", layer.kind, layer.layer),
            values: layer.heads.iter().map(|head| mean(head)).collect(),
            predicted: Some(mean(&layer.together)),
            series: layer.kind as usize,
        })
        .collect();
    vec![Figure {
        title: "Variance of a layer's input that its heads explain".into(),
        note: "A small dot for each head alone. Diamond: all heads together.".into(),
        svg: strips("Explained variance by layer", Axis::new("explained variance").to(1.0), &rows),
        ..Figure::default()
    }]
}
