//! Study *scale*: the variance of q·k, and what the division by √d_k does to the softmax.

use serde::{Deserialize, Serialize};
use serde_json::json;
use wordloom::readable::grouped;
use wordloom::trace::AttentionKind;

use super::attention::{Attentions, Inside};
use super::findings::{Claim, Data, Findings, Measured};
use super::numeric::{Normal, entropy, moments, softmax};
use super::subject::Subject;
use crate::CliError;
use crate::study::chart::{Axis, Curve, Strip, curves, strips};
use crate::study::report::Figure;
use crate::study::statistics::{Direction, Summary, Verdict};

/// Ratio of variances below which they count as equal.
const EQUAL: f64 = 1.25;
/// Widths of random vectors, and pairs for each.
const WIDTHS: [usize; 8] = [4, 8, 16, 32, 64, 128, 256, 512];
const RANDOM_PAIRS: usize = 4000;

/// The numbers of one head.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct HeadScale {
    kind: AttentionKind,
    layer: usize,
    head: usize,
    d_k: usize,
    /// Number of pairs of a query and a key.
    pairs: usize,
    /// Factor of q·k in this model.
    factor: f64,
    variance: f64,
    /// Variance that follows from the moments of the components, if these are independent.
    independent: f64,
    /// Mean of the largest weight, and of the softmax's gradient, with the factor and without it.
    largest: [f64; 2],
    gradient: [f64; 2],
    /// Mean entropy, as a share of that of uniform weights.
    entropy: [f64; 2],
}

/// Sums over sentences.
#[derive(Default)]
struct Sums {
    products: Vec<f64>,
    /// Vectors of queries and of keys, one after the other.
    vectors: [Vec<f64>; 2],
    largest: [f64; 2],
    gradient: [f64; 2],
    entropy: [f64; 2],
    rows: usize,
}

pub fn run(subject: &mut Subject) -> Result<Findings, CliError> {
    subject.load()?;
    subject.begin("scale", 4);
    let random: Vec<[f64; 2]> = subject.measure("scale/random", |_| Ok(random()))?;
    let heads: Vec<HeadScale> = subject.measure("scale/heads", |subject| measure(subject))?;
    let rise = subject.rise("scale=off")?;
    Ok(findings(&random, &heads, rise.as_deref(), subject))
}

/// Variances of the product of random vectors: plain, and divided by √width.
fn random() -> Vec<[f64; 2]> {
    let mut normal = Normal::new(1);
    let product =
        |width: usize, normal: &mut Normal| (0..width).map(|_| normal.next() * normal.next()).sum::<f64>();
    let variances = WIDTHS.map(|width| {
        let products: Vec<f64> = (0..RANDOM_PAIRS).map(|_| product(width, &mut normal)).collect();
        let [_, variance] = moments(products.iter().copied());
        [variance, variance / width as f64]
    });
    variances.into()
}

fn measure(subject: &Subject) -> Result<Vec<HeadScale>, CliError> {
    let kinds = subject.kinds();
    let attentions = Attentions::of(&subject.model, &kinds)?;
    let mut sums: Vec<Vec<Sums>> = Vec::new();
    for sentence in subject.sentences() {
        if subject.cancel.is_cancelled() {
            return Err(CliError::Interrupted);
        }
        let pass = subject.pass(&sentence.source, &sentence.target)?;
        let opened = attentions.open(&pass, &kinds);
        sums.resize_with(opened.len(), Vec::new);
        for (inside, sums) in opened.iter().zip(&mut sums) {
            sums.resize_with(inside.heads.len(), Sums::default);
            sums.iter_mut().enumerate().for_each(|(head, sums)| sums.add(inside, head));
        }
    }
    let chosen = attentions.iter().filter(|attention| kinds.contains(&attention.kind));
    let heads = chosen.zip(&sums).flat_map(|(attention, sums)| {
        sums.iter().enumerate().map(move |(head, sums)| HeadScale {
            kind: attention.kind,
            layer: attention.layer,
            head,
            ..sums.result(attention.d_k, attention.factor)
        })
    });
    Ok(heads.collect())
}

impl Sums {
    fn add(&mut self, inside: &Inside, head: usize) {
        let vectors = &inside.heads[head];
        let scores = &vectors.queries * vectors.keys.transpose();
        for (own, of) in self.vectors.iter_mut().zip([&vectors.queries, &vectors.keys]) {
            own.extend(of.transpose().iter());
        }
        for (query, row) in scores.row_iter().enumerate() {
            let visible = inside.visible(query);
            let row: Vec<f64> = row.iter().take(visible).copied().collect();
            self.products.extend(&row);
            if visible < 2 {
                continue;
            }
            self.rows += 1;
            for (slot, factor) in [inside.attention.factor, 1.0].into_iter().enumerate() {
                let weights = softmax(&row.iter().map(|score| factor * score).collect::<Vec<_>>());
                self.largest[slot] += weights.iter().copied().fold(0.0, f64::max);
                self.entropy[slot] += entropy(&weights) / (visible as f64).ln();
                // the trace of the softmax's Jacobian, over that of uniform weights
                let uniform = 1.0 - 1.0 / visible as f64;
                self.gradient[slot] += weights.iter().map(|p| p * (1.0 - p)).sum::<f64>() / uniform;
            }
        }
    }

    fn result(&self, d_k: usize, factor: f64) -> HeadScale {
        let component =
            |side: usize, at: usize| moments(self.vectors[side].iter().skip(at).step_by(d_k).copied());
        let independent = (0..d_k).map(|at| {
            let ([mean_q, q], [mean_k, k]) = (component(0, at), component(1, at));
            q * k + mean_q * mean_q * k + mean_k * mean_k * q
        });
        let mean = |sums: [f64; 2]| sums.map(|sum| sum / self.rows.max(1) as f64);
        HeadScale {
            kind: AttentionKind::Encoder,
            layer: 0,
            head: 0,
            d_k,
            pairs: self.products.len(),
            factor,
            variance: moments(self.products.iter().copied())[1],
            independent: independent.sum(),
            largest: mean(self.largest),
            gradient: mean(self.gradient),
            entropy: mean(self.entropy),
        }
    }
}

fn findings(random: &[[f64; 2]], heads: &[HeadScale], rise: Option<&[f64]>, subject: &Subject) -> Findings {
    let of = |value: &dyn Fn(&HeadScale) -> f64| heads.iter().map(value).collect::<Vec<f64>>();
    Findings {
        claim: "Dot products grow with the width d_k of queries and keys. Divided by √d_k they have a variance of 1, so that the \
                softmax keeps its gradients.",
        source: "Vaswani et al. 2017, “Attention Is All You Need”, section 3.2.1 and footnote 4",
        method: vec![
            format!(
                "Queries and keys of every head are computed in f64 from the weights and from the hidden states of {} \
                 sentences. The variance of q·k is over all pairs of a query and a key that it sees.",
                subject.sentences().len()
            ),
            "If the components of q and k are independent, the variance is the sum over components of σ²(q)σ²(k) + \
             μ²(q)σ²(k) + μ²(k)σ²(q). The paper's footnote is the case μ = 0 and σ² = 1."
                .to_owned(),
            "The softmax of a row is saturated if one weight is nearly 1. Its gradient is measured as Σ p(1 − p), the trace of \
             its Jacobian, as a share of that of uniform weights. Without the scale, the same q·k go into the softmax undivided."
                .to_owned(),
        ],
        claims: claims(random, heads).into_iter().chain(rise.map(without_scale)).collect(),
        figures: figures(random, heads),
        facts: vec![[
            "Pairs".into(),
            grouped(heads.iter().map(|head| head.pairs as u64).sum::<u64>()),
            format!("of a query and a key, in {} heads", of(&|_| 0.0).len()),
        ]],
        against: vec![
            "The model was trained with the scale. Weights of a model that is trained without it would be smaller, so that the \
             saturation is that of a removed scale, not of a training without one."
                .to_owned(),
            "Queries and keys have biases, and the same tokens occur often: pairs are not independent samples.".to_owned(),
            "Heads of a layer read the same states. The spread over heads is wider than that of independent ones would be."
                .to_owned(),
        ],
        data: data(heads),
    }
}

fn data(heads: &[HeadScale]) -> Data {
    let mut data = Data::new(&[
        "kind",
        "layer",
        "head",
        "d_k",
        "pairs",
        "variance",
        "variance_if_independent",
        "factor",
        "largest_weight",
        "largest_weight_without_scale",
        "gradient",
        "gradient_without_scale",
        "relative_entropy",
        "relative_entropy_without_scale",
    ]);
    data.rows = heads
        .iter()
        .map(|head| {
            let HeadScale {
                kind,
                layer,
                head,
                d_k,
                pairs,
                factor,
                variance,
                independent,
                largest,
                gradient,
                entropy,
            } = head;
            [
                json!(kind),
                json!(layer),
                json!(head),
                json!(d_k),
                json!(pairs),
                json!(variance),
                json!(independent),
                json!(factor),
                json!(largest[0]),
                json!(largest[1]),
                json!(gradient[0]),
                json!(gradient[1]),
                json!(entropy[0]),
                json!(entropy[1]),
            ]
            .into()
        })
        .collect();
    data
}

fn claims(random: &[[f64; 2]], heads: &[HeadScale]) -> Vec<Claim> {
    let of = |value: &dyn Fn(&HeadScale) -> f64| heads.iter().map(value).collect::<Vec<f64>>();
    let same = |logs: &[f64]| Verdict::of(Direction::Same, Summary::of(logs), EQUAL.ln());
    let equal = format!("the ratio is 1, within a factor of {EQUAL} (95 % interval of its logarithm)");
    let random_logs: Vec<f64> = random.iter().map(|[_, scaled]| scaled.ln()).collect();
    let random_ratios: Vec<f64> = random.iter().map(|[_, scaled]| *scaled).collect();
    let is_scaled = heads.iter().all(|head| head.factor < 1.0);
    let gradients = of(&|head| head.gradient[1] - head.gradient[0]);
    vec![
        Claim {
            claim: "Independent components with mean 0 and variance 1 give q·k a variance of d_k, and of 1 after the division."
                .into(),
            source: "footnote 4",
            prediction: equal.clone(),
            measured: Measured::new("variance / d_k of random vectors", &random_ratios, "widths").into_iter().collect(),
            verdict: same(&random_logs),
            note: "of random numbers, not of the model".into(),
        },
        Claim {
            claim: "So has q·k in the trained model.".into(),
            source: "footnote 4, as often taught",
            prediction: equal.clone(),
            measured: [
                Measured::new("variance of q·k", &of(&|head| head.variance), "heads"),
                Measured::new("after the division", &of(&|head| head.variance * head.factor.powi(2)), "heads"),
                Measured::new("variance / d_k", &of(&|head| head.variance / head.d_k as f64), "heads"),
            ]
            .into_iter()
            .flatten()
            .collect(),
            verdict: same(&of(&|head| (head.variance / head.d_k as f64).ln())),
            note: "the footnote assumes it of vectors, not of trained ones".into(),
        },
        Claim {
            claim: "The components of q and k of the trained model are independent.".into(),
            source: "footnote 4",
            prediction: equal,
            measured: Measured::new(
                "variance / that of independent components",
                &of(&|head| head.variance / head.independent),
                "heads",
            )
            .into_iter()
            .collect(),
            verdict: same(&of(&|head| (head.variance / head.independent).ln())),
            note: String::new(),
        },
        Claim {
            claim: "Without the scale, the softmax is pushed into regions with small gradients.".into(),
            source: "section 3.2.1",
            prediction: "the gradient is smaller without the scale (95 % interval of the differences)".into(),
            measured: [
                Measured::new("gradient with it", &of(&|head| head.gradient[0]), "heads"),
                Measured::new("gradient without it", &of(&|head| head.gradient[1]), "heads"),
                Measured::new("entropy with it, of uniform", &of(&|head| head.entropy[0]), "heads"),
                Measured::new("entropy without it", &of(&|head| head.entropy[1]), "heads"),
                Measured::new("largest weight with it", &of(&|head| head.largest[0]), "heads"),
                Measured::new("largest weight without it", &of(&|head| head.largest[1]), "heads"),
            ]
            .into_iter()
            .flatten()
            .collect(),
            verdict: match is_scaled {
                true => Verdict::of(Direction::Lower, Summary::of(&gradients), 0.0),
                false => Verdict::NotDecidable,
            },
            note: if is_scaled { String::new() } else { "this model has no scale".into() },
        },
    ]
}

/// What the trained model loses.
fn without_scale(rise: &[f64]) -> Claim {
    Claim {
        claim: "The trained model needs the scale.".into(),
        source: "section 3.2.1",
        prediction: "without it, the loss of the references rises (95 % interval over sentences)".into(),
        measured: Measured::new("rise, nats per token", rise, "sentences").into_iter().collect(),
        verdict: Verdict::of(Direction::Higher, Summary::of(rise), 0.0),
        note: String::new(),
    }
}

fn figures(random: &[[f64; 2]], heads: &[HeadScale]) -> Vec<Figure> {
    let mut variances: Vec<Strip> = Vec::new();
    let mut gradients: Vec<Strip> = Vec::new();
    for group in heads.chunk_by(|a, b| (a.kind, a.layer) == (b.kind, b.layer)) {
        let HeadScale { kind, layer, .. } = group[0];
        variances.push(Strip {
            name: format!("{kind}, layer {layer}"),
            values: group.iter().map(|head| head.variance / head.d_k as f64).collect(),
            predicted: Some(1.0),
            series: kind as usize,
        });
    }
    for group in heads.chunk_by(|a, b| a.kind == b.kind) {
        for (slot, name) in ["with the scale", "without it"].into_iter().enumerate() {
            gradients.push(Strip {
                name: format!("{}, {name}", group[0].kind),
                values: group.iter().map(|head| head.gradient[slot]).collect(),
                predicted: None,
                series: slot,
            });
        }
    }
    let points =
        |slot: usize| WIDTHS.iter().zip(random).map(|(&width, pair)| [width as f64, pair[slot]]).collect();
    let predicted =
        |value: fn(f64) -> f64| WIDTHS.iter().map(|&width| [width as f64, value(width as f64)]).collect();
    let of_random = [
        Curve { name: "q·k".into(), points: points(0), ..Curve::default() },
        Curve { name: "q·k / √d_k".into(), points: points(1), ..Curve::default() },
        Curve {
            name: "d_k".into(),
            points: predicted(|width| width),
            is_reference: true,
            ..Curve::default()
        },
        Curve { name: "1".into(), points: predicted(|_| 1.0), is_reference: true, ..Curve::default() },
    ];
    vec![
        Figure {
            title: "Variance of q·k over d_k".into(),
            note:
                "A small dot for each head, a large one for the mean of a layer. Diamond: the footnote's 1."
                    .into(),
            svg: strips("Variance of q·k over d_k, by layer", Axis::new("variance / d_k").log(), &variances),
            ..Figure::default()
        },
        Figure {
            title: "Gradient of the softmax".into(),
            note: "Σ p(1 − p), as a share of that of uniform weights. 0: saturated.".into(),
            svg: strips("Gradient of the softmax", Axis::new("gradient").from(0.0), &gradients),
            ..Figure::default()
        },
        Figure {
            title: "Random vectors".into(),
            note: format!(
                "Variance of the product of {RANDOM_PAIRS} pairs of each width. Dotted: predicted."
            ),
            svg: curves(
                "Variance by width",
                [Axis::new("d_k").log(), Axis::new("variance").log()],
                &of_random,
            ),
            ..Figure::default()
        },
    ]
}
