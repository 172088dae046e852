//! Study *symmetry*: does "how much does a look at b" equal "how much does b look at a"?

use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};
use serde_json::json;
use wordloom::trace::AttentionKind;

use super::attention::{Attention, Attentions};
use super::findings::{Claim, Data, Findings, Measured};
use super::subject::Subject;
use crate::CliError;
use crate::study::chart::{Axis, Strip, strips};
use crate::study::report::Figure;
use crate::study::statistics::{Direction, Summary, Verdict};

/// ‖S − Sᵀ‖ / ‖S‖ below which scores count as symmetric.
const SYMMETRIC: f64 = 0.1;
/// Difference from √2 below which two directions count as unrelated.
const UNRELATED: f64 = 0.1;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct HeadSymmetry {
    kind: AttentionKind,
    layer: usize,
    head: usize,
    /// Of W_Q·W_Kᵀ.
    weights: f64,
    /// Of W_K·W_Kᵀ, as if queries and keys were shared.
    shared: f64,
    /// Mean over sentences of that of the scores.
    scores: f64,
    sentences: usize,
}

pub fn run(subject: &mut Subject) -> Result<Findings, CliError> {
    subject.load()?;
    subject.begin("symmetry", 3);
    let heads: Vec<HeadSymmetry> = subject.measure("symmetry/heads", |subject| measure(subject))?;
    let rise = subject.rise("self.query=key")?;
    Ok(findings(&heads, rise.as_deref(), subject))
}

fn measure(subject: &Subject) -> Result<Vec<HeadSymmetry>, CliError> {
    let kinds: Vec<AttentionKind> =
        subject.kinds().into_iter().filter(|kind| *kind != AttentionKind::Cross).collect();
    let attentions = Attentions::of(&subject.model, &kinds)?;
    let mut heads: Vec<HeadSymmetry> = Vec::new();
    for attention in attentions.iter() {
        for head in 0..attention.heads {
            let [queries, keys] = head_weights(attention, head);
            heads.push(HeadSymmetry {
                kind: attention.kind,
                layer: attention.layer,
                head,
                weights: asymmetry_of_product(&queries, &keys),
                shared: asymmetry_of_product(&keys, &keys),
                scores: 0.0,
                sentences: 0,
            });
        }
    }
    for sentence in subject.sentences() {
        if subject.cancel.is_cancelled() {
            return Err(CliError::Interrupted);
        }
        let pass = subject.pass(&sentence.source, &sentence.target)?;
        let opened = attentions.open(&pass, &kinds);
        for (vectors, head) in opened.iter().flat_map(|inside| &inside.heads).zip(&mut heads) {
            if vectors.queries.nrows() > 1 {
                head.scores += asymmetry(&(&vectors.queries * vectors.keys.transpose()));
                head.sentences += 1;
            }
        }
    }
    heads.iter_mut().for_each(|head| head.scores /= head.sentences.max(1) as f64);
    Ok(heads)
}

/// W_Q and W_K of a head, `[d_model, d_k]` each.
pub fn head_weights(attention: &Attention, head: usize) -> [DMatrix<f64>; 2] {
    let part = |all: &DMatrix<f64>| all.columns(head * attention.d_k, attention.d_k).into_owned();
    [part(&attention.queries.weight), part(&attention.keys.weight)]
}

/// ‖S − Sᵀ‖ / ‖S‖ in the Frobenius norm: 0 for a symmetric matrix, √2 for independent entries, 2 for an antisymmetric one.
fn asymmetry(matrix: &DMatrix<f64>) -> f64 {
    (matrix - matrix.transpose()).norm() / matrix.norm().max(f64::MIN_POSITIVE)
}

/// [`asymmetry`] of `a·bᵀ`, without the large product.
fn asymmetry_of_product(a: &DMatrix<f64>, b: &DMatrix<f64>) -> f64 {
    let squares = a.tr_mul(a).dot(&b.tr_mul(b));
    let between = b.tr_mul(a);
    let crossed = between.dot(&between.transpose());
    (2.0 * (squares - crossed)).max(0.0).sqrt() / squares.max(f64::MIN_POSITIVE).sqrt()
}

fn findings(heads: &[HeadSymmetry], rise: Option<&[f64]>, subject: &Subject) -> Findings {
    let mut data = Data::new(&["kind", "layer", "head", "weights", "scores", "shared_weights", "sentences"]);
    data.rows = heads
        .iter()
        .map(|HeadSymmetry { kind, layer, head, weights, shared, scores, sentences }| {
            vec![
                json!(kind),
                json!(layer),
                json!(head),
                json!(weights),
                json!(scores),
                json!(shared),
                json!(sentences),
            ]
        })
        .collect();
    Findings {
        claim: "Queries and keys have projections of their own. So a word can look at another without being looked at.",
        source: "Vaswani et al. 2017, “Attention Is All You Need”, section 3.2.2",
        method: vec![
            format!(
                "S is the matrix of q·k of a head's self-attention, for all pairs of tokens of a sentence ({} sentences), before \
                 the mask. ‖S − Sᵀ‖/‖S‖ in the Frobenius norm is 0 for symmetric scores, √2 for independent entries, and 2 if the \
                 two directions are opposites.",
                subject.sentences().len()
            ),
            "W_Q·W_Kᵀ of a head is the matrix between two hidden states that gives the same scores, but for biases. It is \
             measured as S is."
                .to_owned(),
        ],
        claims: claims(heads, rise),
        figures: vec![figure(heads)],
        facts: Vec::new(),
        against: vec![
            "The softmax is taken by rows, so that attention weights are not symmetric even if scores are.".to_owned(),
            "In the decoder, half of the pairs are masked: those scores were never trained.".to_owned(),
            "Whether a model that is trained with shared projections is as good is not asked here: that needs a training."
                .to_owned(),
        ],
        data,
    }
}

fn claims(heads: &[HeadSymmetry], rise: Option<&[f64]>) -> Vec<Claim> {
    let of = |value: &dyn Fn(&HeadSymmetry) -> f64| heads.iter().map(value).collect::<Vec<f64>>();
    let mut claims = vec![
        Claim {
            claim: "Scores have a direction: q of a times k of b is not q of b times k of a.".into(),
            source: "section 3.2.2: W_Q and W_K are separate",
            prediction: format!("‖S − Sᵀ‖/‖S‖ is above {SYMMETRIC} (95 % interval)"),
            measured: Measured::new("scores", &of(&|head| head.scores), "heads").into_iter().collect(),
            verdict: Verdict::of(Direction::Higher, Summary::of(&of(&|head| head.scores - SYMMETRIC)), 0.0),
            note: String::new(),
        },
        Claim {
            claim: "The two directions are unrelated, as those of random matrices are.".into(),
            source: "‖S − Sᵀ‖/‖S‖ is √2 for independent entries",
            prediction: format!("the ratio is √2 ± {UNRELATED} (95 % interval)"),
            measured: [
                Measured::new("W_Q·W_Kᵀ", &of(&|head| head.weights), "heads"),
                Measured::new("scores", &of(&|head| head.scores), "heads"),
            ]
            .into_iter()
            .flatten()
            .collect(),
            verdict: Verdict::of(
                Direction::Same,
                Summary::of(&of(&|head| head.weights - std::f64::consts::SQRT_2)),
                UNRELATED,
            ),
            note: "judged by the weights".into(),
        },
        Claim {
            claim: "Shared projections, W_Q := W_K, make scores symmetric.".into(),
            source: "Kitaev et al. 2020, “Reformer”, section 2",
            prediction: format!("the ratio of W_K·W_Kᵀ is below {SYMMETRIC} (95 % interval)"),
            measured: Measured::new("W_K·W_Kᵀ", &of(&|head| head.shared), "heads").into_iter().collect(),
            verdict: Verdict::of(Direction::Lower, Summary::of(&of(&|head| head.shared - SYMMETRIC)), 0.0),
            note: "by definition, a check of the measure".into(),
        },
    ];
    claims.extend(rise.map(|rise| Claim {
        claim: "The trained model needs both projections.".into(),
        source: "section 3.2.2",
        prediction: "with W_Q := W_K in all self-attention, the loss of the references rises (95 % interval over sentences)".into(),
        measured: Measured::new("rise, nats per token", rise, "sentences").into_iter().collect(),
        verdict: Verdict::of(Direction::Higher, Summary::of(rise), 0.0),
        note: "a model that is trained so may do without".into(),
    }));
    claims
}

fn figure(heads: &[HeadSymmetry]) -> Figure {
    let mut rows = Vec::new();
    for group in heads.chunk_by(|a, b| (a.kind, a.layer) == (b.kind, b.layer)) {
        let HeadSymmetry { kind, layer, .. } = group[0];
        for (series, name, value) in [
            (0, "W_Q·W_Kᵀ", (|head| head.weights) as fn(&HeadSymmetry) -> f64),
            (1, "scores", |head| head.scores),
        ] {
            rows.push(Strip {
                name: format!("{kind} {layer}, {name}"),
                values: group.iter().map(value).collect(),
                predicted: Some(std::f64::consts::SQRT_2),
                series,
            });
        }
    }
    Figure {
        title: "‖S − Sᵀ‖ / ‖S‖ by layer".into(),
        note: "0: symmetric. Diamond: √2, unrelated directions. A small dot for each head.".into(),
        svg: strips("Asymmetry by layer", Axis::new("‖S − Sᵀ‖ / ‖S‖").from(0.0).to(2.0), &rows),
        ..Figure::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::inside::numeric::Normal;

    #[test]
    fn the_ratio_tells_symmetric_from_unrelated_and_opposite() {
        let mut normal = Normal::new(3);
        let [a, b] = [normal.matrix(40, 8), normal.matrix(40, 8)];
        let full = &a * b.transpose();
        assert!((asymmetry_of_product(&a, &b) - asymmetry(&full)).abs() < 1e-12);
        assert!(asymmetry_of_product(&a, &a) < 1e-7);
        assert!((asymmetry(&(&full - full.transpose())) - 2.0).abs() < 1e-12);
        assert!((asymmetry(&normal.matrix(300, 300)) - std::f64::consts::SQRT_2).abs() < 0.02);
    }
}
