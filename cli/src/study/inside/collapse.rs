//! Study *collapse*: do tokens become equal with depth, with skip connections and without?

use nalgebra::{DMatrix, RowDVector};
use serde::{Deserialize, Serialize};
use serde_json::json;
use wordloom::trace::AttentionKind;

use super::attention::{Attention, Attentions, matrix};
use super::findings::{Claim, Data, Findings, Measured};
use super::numeric::softmax;
use super::subject::Subject;
use super::symmetry::head_weights;
use crate::CliError;
use crate::study::chart::{Axis, Curve, curves};
use crate::study::report::Figure;
use crate::study::statistics::{Direction, Summary, Verdict};

/// Attentions that states pass through; the layers of the model are used again from the bottom if there are fewer.
const DEPTH: usize = 12;
/// Paths of the states.
const PATHS: [&str; 6] =
    ["attention alone", "with skips", "whole model", "no skips", "no feed-forward", "neither"];
const ALONE: usize = 0;
const SKIPS: usize = 1;
const WHOLE: usize = 2;
const NO_SKIPS: usize = 3;
const NEITHER: usize = 5;

/// One sentence.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Fall {
    /// Relative distance to rank one after 0, 1, 2, … layers, for each of [`PATHS`]; empty if there
    /// is no such path.
    paths: Vec<Vec<f64>>,
    /// Common logarithm of the paper's bound on the distance of attention alone, not relative.
    bound: Vec<f64>,
    /// Common logarithm of that distance.
    absolute: Vec<f64>,
}

pub fn run(subject: &mut Subject) -> Result<Findings, CliError> {
    subject.load()?;
    let kind = subject.kinds().into_iter().next().unwrap_or(AttentionKind::Encoder);
    let attentions = Attentions::of(&subject.model, &[kind])?;
    let layers: Vec<&Attention> = attentions.iter().filter(|attention| attention.kind == kind).collect();
    let beta = layers.iter().map(|layer| beta(layer)).fold(0.0, f64::max);
    let count = subject.sentences().len();
    subject.begin("collapse", count + 3);
    let mut falls: Vec<Fall> = Vec::new();
    for number in 0..count {
        let work = |subject: &mut Subject| fall(subject, number, kind, &layers, beta);
        falls.push(subject.measure(&format!("collapse/{number}"), work)?);
    }
    let stack = if kind == AttentionKind::Encoder { "encoder" } else { "decoder" };
    let off = ["residual", "feed-forward"].map(|part| format!("{stack}.{part}=off"));
    // a block that is off keeps its residual
    let neither = format!("{stack}.self.residual=off,{}", off[1]);
    for switches in [off[0].clone(), off[1].clone(), neither] {
        let paths: Option<Vec<Vec<f64>>> = subject.measure(&format!("collapse/{switches}"), |subject| {
            let path = |subject: &Subject, number| Ok(relative(&hidden(subject, number, kind)?));
            subject.switched(&switches, |subject| (0..count).map(|number| path(subject, number)).collect())
        })?;
        let paths = paths.unwrap_or_else(|| vec![Vec::new(); count]);
        falls.iter_mut().zip(paths).for_each(|(fall, path)| fall.paths.push(path));
    }
    Ok(findings(kind, layers.len(), beta, &falls))
}

/// The hidden states of a sentence, bottom to top.
fn hidden(subject: &Subject, number: usize, kind: AttentionKind) -> Result<Vec<DMatrix<f64>>, CliError> {
    if subject.cancel.is_cancelled() {
        return Err(CliError::Interrupted);
    }
    let sentence = &subject.sentences()[number];
    let pass = subject.pass(&sentence.source, &sentence.target)?;
    let is_encoder = kind == AttentionKind::Encoder;
    let states = if is_encoder { &pass.encoder_hidden_states } else { &pass.decoder_hidden_states };
    Ok(states.iter().map(matrix).collect())
}

/// The distance to rank one of each state.
fn relative(states: &[DMatrix<f64>]) -> Vec<f64> {
    states.iter().map(|states| residual(states) / norm(states)).collect()
}

fn fall(
    subject: &Subject,
    number: usize,
    kind: AttentionKind,
    layers: &[&Attention],
    beta: f64,
) -> Result<Fall, CliError> {
    let whole = hidden(subject, number, kind)?;
    let path = |skips: bool| {
        let mut states = vec![whole[0].clone()];
        for depth in 0..DEPTH {
            let layer = layers[depth % layers.len()];
            let before = &states[depth];
            let after = attend(layer, before);
            states.push(if skips { before + after } else { after });
        }
        states
    };
    let (alone, skips) = (path(false), path(true));
    let first = residual(&alone[0]);
    let head = layers[0];
    let constant = 4.0 * beta * head.heads as f64 / (head.d_k as f64).sqrt();
    // ((4βH/√d_k)^((3^L − 1)/2)) · ‖res(X)‖^(3^L), as a logarithm: the power itself has no number
    let bound = |depth: i32| {
        let power = 3_f64.powi(depth);
        (power - 1.0) / 2.0 * constant.log10() + power * first.log10()
    };
    Ok(Fall {
        paths: vec![relative(&alone), relative(&skips), relative(&whole)],
        bound: (0..=layers.len() as i32).map(bound).collect(),
        absolute: alone.iter().take(layers.len() + 1).map(|states| residual(states).log10()).collect(),
    })
}

/// The sum of all heads of a layer, without skip, norm and feed-forward network. Biases are left out, as in the paper.
fn attend(layer: &Attention, states: &DMatrix<f64>) -> DMatrix<f64> {
    let input = states;
    let outputs: Vec<DMatrix<f64>> = layer
        .vectors_without_bias(input, input)
        .into_iter()
        .map(|head| {
            let mut weights = (&head.queries * head.keys.transpose()).scale(layer.factor);
            for (query, mut row) in weights.row_iter_mut().enumerate() {
                let visible = if layer.kind == AttentionKind::Decoder { query + 1 } else { row.len() };
                let scores: Vec<f64> = row.iter().take(visible).copied().collect();
                let all = softmax(&scores).into_iter().chain(std::iter::repeat(0.0));
                row.iter_mut().zip(all).for_each(|(weight, value)| *weight = value);
            }
            weights * head.values
        })
        .collect();
    layer.summed(&outputs)
}

/// √(‖X‖₁ · ‖X‖_∞) of Dong et al.: the largest sum of a column, and of a row, of absolute values.
fn norm(states: &DMatrix<f64>) -> f64 {
    let largest = |sums: &mut dyn Iterator<Item = f64>| sums.fold(0.0, f64::max);
    let columns = largest(&mut states.column_iter().map(|column| column.lp_norm(1)));
    let rows = largest(&mut states.row_iter().map(|row| row.lp_norm(1)));
    (columns * rows).sqrt().max(f64::MIN_POSITIVE)
}

/// The norm of `X − 1xᵀ`, where x is the mean token. The paper's x minimizes the norm; the mean gives an upper bound.
fn residual(states: &DMatrix<f64>) -> f64 {
    let mean: RowDVector<f64> = states.row_mean();
    let mut apart = states.clone();
    apart.row_iter_mut().for_each(|mut row| row -= &mean);
    norm(&apart)
}

/// The largest ‖W_Q·W_Kᵀ‖₁ · √(‖W‖₁·‖W‖_∞) of a layer's heads, W = W_V·W_O.
fn beta(layer: &Attention) -> f64 {
    let of_head = |head: usize| {
        let [queries, keys] = head_weights(layer, head);
        let scores = queries * keys.transpose();
        let largest = scores.column_iter().map(|column| column.lp_norm(1)).fold(0.0, f64::max);
        largest * norm(&layer.values_and_output(head))
    };
    (0..layer.heads).map(of_head).fold(0.0, f64::max)
}

fn findings(kind: AttentionKind, layers: usize, beta: f64, falls: &[Fall]) -> Findings {
    let mut data =
        Data::new(&["sentence", "path", "layers", "relative_distance", "log10_distance", "log10_bound"]);
    for (sentence, fall) in falls.iter().enumerate() {
        for (path, values) in PATHS.iter().zip(&fall.paths) {
            data.rows.extend(values.iter().enumerate().map(|(depth, value)| {
                let of_alone = |values: &[f64]| values.get(depth).filter(|_| *path == PATHS[ALONE]).copied();
                vec![
                    json!(sentence),
                    json!(path),
                    json!(depth),
                    json!(value),
                    json!(of_alone(&fall.absolute)),
                    json!(of_alone(&fall.bound)),
                ]
            }));
        }
    }
    Findings {
        claim: "Attention alone makes all tokens equal, doubly exponentially with depth. Skip connections prevent it.",
        source: "Dong et al. 2021, “Attention Is Not All You Need: Pure Attention Loses Rank Doubly Exponentially with Depth”, \
                 theorem 2.2 and section 3",
        method: vec![
            format!(
                "The distance to rank one of states X is ‖X − 1xᵀ‖ / ‖X‖, where x is the mean token, in the paper's norm \
                 √(‖·‖₁ ‖·‖_∞). {} sentences begin as their embeddings with positions.",
                falls.len()
            ),
            format!(
                "Attention alone: the states of a layer are the sum of its heads, without skips, norms, biases and feed-forward \
                 networks. With skips: the states before are added. The {layers} layers of the {kind} are used again and again to \
                 {DEPTH}. Whole model: its own hidden states, with norms; and the same \
                 without skips, without feed-forward networks, and without either. Computed in f64."
            ),
            "Bound: (4βH/√d_k)^((3^L − 1)/2) · ‖res(X)‖^(3^L), with the largest β = ‖W_Q·W_Kᵀ‖₁ ‖W_V·W_O‖ of all heads.".to_owned(),
        ],
        claims: claims(layers, falls),
        figures: figures(falls, layers),
        facts: vec![["β".into(), crate::study::chart::number(beta), "the largest of all heads (n 1, without spread)".into()]],
        against: vec![
            "Trained weights expect skips and norms: without them, states have sizes that the layers never saw.".to_owned(),
            format!("Beyond layer {layers} the same weights are used again, which the paper's models do not do."),
            "The paper's x minimizes the norm. With the mean instead, the measured distance is a little too large.".to_owned(),
            "The whole model was trained with its skips and feed-forward networks; its norms stay in all of its paths.".to_owned(),
        ],
        data,
    }
}

/// Values of a path at a depth.
fn at(falls: &[Fall], path: usize, depth: usize) -> Vec<f64> {
    falls.iter().filter_map(|fall| fall.paths[path].get(depth).copied()).collect()
}

/// Differences of the common logarithms of two values of each sentence.
fn ratios(above: &[f64], below: &[f64]) -> Vec<f64> {
    let log = |value: f64| value.max(1e-300).log10();
    above.iter().zip(below).map(|(above, below)| log(*above) - log(*below)).collect()
}

fn measured<const N: usize>(all: [(&str, &[f64]); N]) -> Vec<Measured> {
    all.into_iter().filter_map(|(name, values)| Measured::new(name, values, "sentences")).collect()
}

fn claims(layers: usize, falls: &[Fall]) -> Vec<Claim> {
    let fallen: Vec<f64> = at(falls, ALONE, DEPTH).iter().map(|value| value.max(1e-300).log10()).collect();
    let beyond: Vec<f64> = fallen.iter().map(|value| value + 2.0).collect();
    // doubly exponential: each step of the logarithm is larger than the one before, by a factor of 3
    let step = |from: usize| ratios(&at(falls, ALONE, from), &at(falls, ALONE, from + 1));
    let growth: Vec<f64> = step(1).iter().zip(step(0)).map(|(second, first)| second - first).collect();
    let below: Vec<f64> =
        falls.iter().filter_map(|fall| Some(fall.bound.last()? - fall.absolute.last()?)).collect();
    let mut claims = vec![
        Claim {
            claim: "Attention alone makes tokens equal.".into(),
            source: "theorem 2.2",
            prediction: format!("the distance falls below 0.01 within {DEPTH} layers (95 % interval of its logarithm)"),
            measured: measured([("log₁₀ of the distance", &fallen)]),
            verdict: Verdict::of(Direction::Lower, Summary::of(&beyond), 0.0),
            note: String::new(),
        },
        Claim {
            claim: "The fall speeds up from layer to layer, as a doubly exponential one does.".into(),
            source: "theorem 2.2",
            prediction: "the second layer lowers the logarithm by more than the first (95 % interval of the differences)"
                .into(),
            measured: measured([("first layer, log₁₀", &step(0)), ("second layer, log₁₀", &step(1))]),
            verdict: Verdict::of(Direction::Higher, Summary::of(&growth), 0.0),
            note: String::new(),
        },
        Claim {
            claim: "The distance of attention alone stays below the paper's bound.".into(),
            source: "theorem 2.2",
            prediction: format!("log₁₀ of the bound is larger after {layers} layers (95 % interval of the differences)"),
            measured: measured([("log₁₀ of bound / distance", &below)]),
            verdict: Verdict::of(Direction::Higher, Summary::of(&below), 0.0),
            note: "a bound above the beginning says nothing: see the figure".into(),
        },
    ];
    claims.extend(of_skips(layers, falls));
    claims
}

/// What skips and feed-forward networks do.
fn of_skips(layers: usize, falls: &[Fall]) -> Vec<Claim> {
    let [skips, alone] = [SKIPS, ALONE].map(|path| at(falls, path, DEPTH));
    let [whole, no_skips, neither] = [WHOLE, NO_SKIPS, NEITHER].map(|path| at(falls, path, layers));
    let kept = ratios(&skips, &alone);
    let lost = ratios(&no_skips, &whole);
    let networks = ratios(&no_skips, &neither);
    let verdict = |direction, values: &[f64]| Verdict::of(direction, Summary::of(values), 0.0);
    vec![
        Claim {
            claim: "Skip connections keep tokens apart.".into(),
            source: "section 3.1",
            prediction: format!(
                "after {DEPTH} layers the distance with skips is larger than without (95 % interval of the logarithms)"
            ),
            measured: measured([
                ("attention with skips", &skips),
                ("log₁₀ of the ratio to attention alone", &kept),
            ]),
            verdict: verdict(Direction::Higher, &kept),
            note: String::new(),
        },
        Claim {
            claim: "Without its skip connections, the tokens of the whole model come closer.".into(),
            source: "section 4",
            prediction: "at the top, the distance is smaller than with them (95 % interval of the logarithms)".into(),
            measured: measured([
                ("whole model, at its top", &whole),
                ("no skips", &no_skips),
                ("log₁₀ of the ratio", &lost),
            ]),
            verdict: verdict(Direction::Lower, &lost),
            note: "its norms stay".into(),
        },
        Claim {
            claim: "Feed-forward networks slow the collapse.".into(),
            source: "section 3.2",
            prediction: "without skips, the distance is larger with them than without (95 % interval of the logarithms)"
                .into(),
            measured: measured([
                ("neither, at the top", &neither),
                ("log₁₀ of the ratio, with / without", &networks),
            ]),
            verdict: verdict(Direction::Higher, &networks),
            note: String::new(),
        },
    ]
}

fn figures(falls: &[Fall], layers: usize) -> Vec<Figure> {
    let quantiles = |path: usize, depth: usize| {
        let mut values: Vec<f64> = falls
            .iter()
            .filter_map(|fall| fall.paths[path].get(depth))
            .map(|value| value.max(1e-16))
            .collect();
        values.sort_by(f64::total_cmp);
        let at = |share: f64| values[(share * (values.len() - 1) as f64).round() as usize];
        (!values.is_empty()).then(|| [at(0.1), at(0.5), at(0.9)])
    };
    let curve = |(path, name): (usize, &&str)| {
        let depths = (0..=DEPTH).filter_map(|depth| Some((depth as f64, quantiles(path, depth)?)));
        let depths: Vec<(f64, [f64; 3])> = depths.collect();
        Curve {
            name: (*name).to_owned(),
            points: depths.iter().map(|(depth, [_, middle, _])| [*depth, *middle]).collect(),
            band: depths.iter().map(|(depth, [low, _, high])| [*depth, *low, *high]).collect(),
            is_reference: false,
        }
    };
    let paths: Vec<Curve> = PATHS.iter().enumerate().map(curve).collect();
    let mean = |value: &dyn Fn(&Fall) -> Option<f64>| {
        Summary::of(&falls.iter().filter_map(value).collect::<Vec<f64>>()).map_or(0.0, |all| all.mean)
    };
    let line = |name: &str, of: fn(&Fall) -> &[f64], is_reference: bool| Curve {
        name: name.to_owned(),
        points: (0..=layers)
            .map(|depth| [depth as f64, mean(&|fall| of(fall).get(depth).copied())])
            .collect(),
        band: Vec::new(),
        is_reference,
    };
    let bounded =
        [line("attention alone", |fall| &fall.absolute, false), line("bound", |fall| &fall.bound, true)];
    vec![
        Figure {
            title: "Distance to rank one".into(),
            note: "Median over sentences; bands from the 10 % to the 90 % quantile.".into(),
            svg: curves(
                "Distance to rank one by depth",
                [Axis::new("layers").from(0.0), Axis::new("‖X − 1xᵀ‖ / ‖X‖").log()],
                &paths,
            ),
            ..Figure::default()
        },
        Figure {
            title: "The bound".into(),
            note: "log₁₀ of ‖X − 1xᵀ‖ of attention alone, and of the bound; means over sentences.".into(),
            svg: curves("Bound by depth", [Axis::new("layers").from(0.0), Axis::new("log₁₀")], &bounded),
            ..Figure::default()
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_norm_is_the_paper_s() {
        let states = DMatrix::from_row_slice(2, 3, &[1.0, -2.0, 3.0, 4.0, 0.0, -1.0]);
        // columns sum to 5, 2, 4; rows to 6, 5
        assert!((norm(&states) - 30_f64.sqrt()).abs() < 1e-12);
        let equal = DMatrix::from_row_slice(2, 2, &[1.0, 5.0, 1.0, 5.0]);
        assert!(residual(&equal) < 1e-12);
    }
}
