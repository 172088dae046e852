//! Study *pruning*: how many heads can be removed?

use serde::{Deserialize, Serialize};
use serde_json::json;
use wordloom::evaluate::bleu;
use wordloom::model::HeadName;
use wordloom::trace::AttentionKind;

use super::findings::{Claim, Data, Findings, Measured};
use super::subject::{Sentence, Subject};
use crate::CliError;
use crate::study::chart::{Axis, Curve, Strip, curves, strips};
use crate::study::report::Figure;
use crate::study::statistics::{Direction, Summary, Verdict};

/// Shares of heads that are removed, in eighths.
const EIGHTHS: usize = 8;
/// Parts of the sentences, of which each has a BLEU of its own.
const PARTS: usize = 5;
/// Loss, in nats per token, below which the removal of a head does not count.
const SMALL_LOSS: f64 = 0.02;
/// BLEU below which a removal does not count.
const SMALL_BLEU: f64 = 1.0;

/// The model without some heads.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Pruned {
    /// Number of removed heads.
    removed: usize,
    /// Loss of each sentence, nats per token.
    losses: Vec<f64>,
    /// BLEU of each part.
    bleu: Vec<f64>,
}

/// A set of heads, pruned step by step.
struct Series {
    name: String,
    heads: usize,
    steps: Vec<Pruned>,
}

pub fn run(subject: &mut Subject) -> Result<Findings, CliError> {
    subject.load()?;
    let all = heads(subject);
    subject.begin("pruning: heads one by one", all.len() + 1);
    let whole: Vec<f64> = subject.measure("whole", |subject| subject.losses(subject.sentences()))?;
    let mut importance = Vec::new();
    for head in &all {
        let losses: Vec<f64> = subject.measure(&format!("pruning/without {head}"), |subject| {
            without(subject, &[*head], |subject| subject.losses(subject.sentences()))
        })?;
        importance.push((*head, minus(&losses, &whole)));
    }
    let mut series = Vec::new();
    let kinds: Vec<Option<AttentionKind>> =
        subject.kinds().into_iter().map(Some).chain(std::iter::once(None)).collect();
    subject.begin("pruning: in order of importance", kinds.len() * (EIGHTHS + 1));
    for kind in kinds {
        let mut order: Vec<(HeadName, f64)> = importance
            .iter()
            .filter(|(head, _)| kind.is_none_or(|kind| head.kind == kind))
            .map(|(head, costs)| (*head, mean(costs)))
            .collect();
        order.sort_by(|a, b| a.1.total_cmp(&b.1));
        let name = kind.map_or("all kinds".to_owned(), |kind| kind.to_string());
        let mut steps = Vec::new();
        for eighth in 0..=EIGHTHS {
            let removed = eighth * order.len() / EIGHTHS;
            let heads: Vec<HeadName> = order[..removed].iter().map(|(head, _)| *head).collect();
            let work = |subject: &mut Subject| {
                let (losses, bleu) = without(subject, &heads, |subject| {
                    Ok((subject.losses(subject.sentences())?, scores(subject, subject.sentences())?))
                })?;
                Ok(Pruned { removed, losses, bleu })
            };
            let key =
                if removed == 0 { "pruning/none".to_owned() } else { format!("pruning/{name}/{removed}") };
            steps.push(subject.measure(&key, work)?);
        }
        series.push(Series { name, heads: order.len(), steps });
    }
    Ok(findings(&importance, &series, subject))
}

fn heads(subject: &Subject) -> Vec<HeadName> {
    let config = subject.model.config();
    let of_kind = |kind: AttentionKind| {
        let stack = if kind == AttentionKind::Encoder { config.encoder } else { config.decoder };
        let layers = 0..config.attention_layers(kind);
        layers.flat_map(move |layer| (0..stack.heads).map(move |head| HeadName { kind, layer, head }))
    };
    subject.kinds().into_iter().flat_map(of_kind).collect()
}

/// Works with a model in which these heads add nothing, and restores it.
pub fn without<T>(
    subject: &mut Subject,
    heads: &[HeadName],
    work: impl FnOnce(&Subject) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let failed = |error: wordloom::transformer::MuteError| CliError::Input(error.to_string());
    let Subject { translator, model, .. } = subject;
    translator.mute(model, heads).map_err(failed)?;
    let result = work(subject);
    let Subject { translator, model, .. } = subject;
    translator.mute(model, &[]).map_err(failed)?;
    result
}

/// BLEU of greedy translations, of each part.
fn scores(subject: &Subject, sentences: &[Sentence]) -> Result<Vec<f64>, CliError> {
    let texts = subject.translations(sentences)?;
    let of_part = |part: usize| {
        let own = |index: &usize| index % PARTS == part;
        let texts: Vec<&str> = (0..texts.len()).filter(own).map(|index| texts[index].as_str()).collect();
        let references: Vec<&str> = (0..sentences.len())
            .filter(own)
            .map(|index| &*subject.pairs[sentences[index].index].target)
            .collect();
        bleu(&texts, &[references]).map(|bleu| bleu.score).map_err(|error| CliError::Input(error.to_string()))
    };
    (0..PARTS).map(of_part).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

fn findings(importance: &[(HeadName, Vec<f64>)], series: &[Series], subject: &Subject) -> Findings {
    let mut data = Data::new(&[
        "heads",
        "removed",
        "of",
        "loss",
        "loss_deviation",
        "sentences",
        "bleu",
        "bleu_deviation",
        "parts",
    ]);
    let cells = |values: &[f64]| {
        let summary = Summary::of(values);
        [
            json!(summary.map(|all| all.mean)),
            json!(summary.and_then(|all| all.deviation)),
            json!(values.len()),
        ]
    };
    for (head, costs) in importance {
        let [loss, deviation, count] = cells(costs);
        data.rows.push(vec![
            json!(format!("{head}, increase")),
            json!(1),
            json!(1),
            loss,
            deviation,
            count,
            json!(null),
            json!(null),
            json!(0),
        ]);
    }
    for Series { name, heads, steps } in series {
        data.rows.extend(steps.iter().map(|step| {
            let ([loss, deviation, count], [score, spread, parts]) = (cells(&step.losses), cells(&step.bleu));
            vec![json!(name), json!(step.removed), json!(heads), loss, deviation, count, score, spread, parts]
        }));
    }
    Findings {
        claim: "Many heads can be removed after the training without a cost. Heads of cross-attention are needed most.",
        source: "Michel et al. 2019, “Are Sixteen Heads Really Better than One?”, sections 3 to 5",
        method: vec![
            format!(
                "A removed head adds nothing: its values are zeros. First each head is removed alone; its importance is the mean \
                 increase of the loss of {} reference translations. Then heads are removed in order of importance, the least \
                 important first, for each kind of attention and for all of them.",
                subject.sentences().len()
            ),
            format!(
                "BLEU is of greedy translations of the same sentences, in {PARTS} parts (every {PARTS}th sentence); mean and spread \
                 are over the parts."
            ),
        ],
        claims: claims(importance, series),
        figures: figures(importance, series),
        facts: Vec::new(),
        against: vec![
            "Importance is measured alone. Two heads that do the same are each unimportant while the other is there.".to_owned(),
            "Order and result come from the same sentences, which favours the pruned model. The paper orders by gradients."
                .to_owned(),
            "The model is not trained further after the removal. Pruning in practice does so.".to_owned(),
            "BLEU of few sentences is rough; the sum over parts is not the BLEU of all.".to_owned(),
        ],
        data,
    }
}

fn claims(importance: &[(HeadName, Vec<f64>)], series: &[Series]) -> Vec<Claim> {
    let costs: Vec<f64> = importance.iter().map(|(_, costs)| mean(costs)).collect();
    let is_small: Vec<f64> = costs.iter().map(|cost| f64::from(u8::from(*cost < SMALL_LOSS))).collect();
    let find = |name: &str| series.iter().find(|series| series.name == name);
    let quarter = find("all kinds").map(|all| {
        let [whole, pruned] = [0, EIGHTHS / 4].map(|step| &all.steps[step]);
        (minus(&pruned.bleu, &whole.bleu), pruned.removed)
    });
    let (drop, removed) = quarter.unwrap_or_default();
    let half = |name: &str| {
        let steps = &find(name)?.steps;
        Some(minus(&steps[EIGHTHS / 2].losses, &steps[0].losses))
    };
    let mut claims = vec![
        Claim {
            claim: "Most heads can be removed alone without a noticeable cost.".into(),
            source: "section 3.2",
            prediction: format!(
                "more than half of the heads cost less than {SMALL_LOSS} nats (95 % interval of the share)"
            ),
            measured: [
                Measured::new("share of such heads", &is_small, "heads"),
                Measured::new("cost of a head, nats", &costs, "heads"),
            ]
            .into_iter()
            .flatten()
            .collect(),
            verdict: Verdict::of(
                Direction::Higher,
                Summary::of(&is_small.iter().map(|small| small - 0.5).collect::<Vec<_>>()),
                0.0,
            ),
            note: String::new(),
        },
        Claim {
            claim: "A quarter of all heads can be removed without a noticeable cost.".into(),
            source: "section 4.2: 20 to 40 %",
            prediction: format!("BLEU falls by less than {SMALL_BLEU} (95 % interval over parts)"),
            measured: Measured::new(format!("change of BLEU, {removed} heads removed"), &drop, "parts")
                .into_iter()
                .collect(),
            verdict: Verdict::of(
                Direction::Higher,
                Summary::of(&drop.iter().map(|change| change + SMALL_BLEU).collect::<Vec<_>>()),
                0.0,
            ),
            note: String::new(),
        },
    ];
    for other in ["encoder", "decoder"] {
        let (Some(cross), Some(own)) = (half("cross"), half(other)) else { continue };
        let differences = minus(&cross, &own);
        claims.push(Claim {
            claim: format!("Cross-attention loses more by pruning than the self-attention of the {other}."),
            source: "section 5, figure 3",
            prediction: "with half of the heads removed, the loss rises more (95 % interval of the differences of each sentence)".into(),
            measured: [
                Measured::new("cross, nats", &cross, "sentences"),
                Measured::new(format!("{other}, nats"), &own, "sentences"),
            ]
            .into_iter()
            .flatten()
            .collect(),
            verdict: Verdict::of(Direction::Higher, Summary::of(&differences), 0.0),
            note: String::new(),
        });
    }
    claims
}

fn figures(importance: &[(HeadName, Vec<f64>)], series: &[Series]) -> Vec<Figure> {
    let curve = |value: fn(&Pruned) -> &[f64]| {
        let of = move |Series { name, heads, steps }: &Series| Curve {
            name: name.clone(),
            points: steps
                .iter()
                .map(|step| [100.0 * step.removed as f64 / *heads as f64, mean(value(step))])
                .collect(),
            ..Curve::default()
        };
        series.iter().map(of).collect::<Vec<Curve>>()
    };
    let axis = || Axis::new("removed heads, %").from(0.0).to(100.0);
    let layers = importance.chunk_by(|(a, _), (b, _)| (a.kind, a.layer) == (b.kind, b.layer));
    let rows: Vec<Strip> = layers
        .map(|group| {
            let HeadName { kind, layer, .. } = group[0].0;
            Strip {
                name: format!("{kind}, layer {layer}"),
                values: group.iter().map(|(_, costs)| mean(costs)).collect(),
                predicted: None,
                series: kind as usize,
            }
        })
        .collect();
    vec![
        Figure {
            title: "BLEU".into(),
            note: "Heads are removed in order of importance.".into(),
            svg: curves(
                "BLEU by removed heads",
                [axis(), Axis::new("BLEU").from(0.0)],
                &curve(|step| &step.bleu),
            ),
            ..Figure::default()
        },
        Figure {
            title: "Loss".into(),
            note: "Of the reference translations.".into(),
            svg: curves(
                "Loss by removed heads",
                [axis(), Axis::new("nats per token").from(0.0)],
                &curve(|step| &step.losses),
            ),
            ..Figure::default()
        },
        Figure {
            title: "Cost of each head".into(),
            note: "Increase of the loss if it alone is removed.".into(),
            svg: strips("Cost of each head", Axis::new("nats per token"), &rows),
            ..Figure::default()
        },
    ]
}
