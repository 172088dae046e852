//! Study *projections*: how many components W_Q·W_Kᵀ has, by head and of all heads together.

use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};
use serde_json::json;
use wordloom::trace::AttentionKind;
use wordloom::trace::spectrum::{MOST, Spectrum};

use super::attention::{Attention, Attentions};
use super::findings::{Claim, Data, Findings, Measured};
use super::numeric::Normal;
use super::subject::Subject;
use super::symmetry::head_weights;
use crate::CliError;
use crate::study::chart::{Axis, Curve, Strip, curves, strips};
use crate::study::report::Figure;
use crate::study::statistics::{Direction, Summary, Verdict};

/// Points of a cumulative curve.
const POINTS: usize = 33;

/// The spectra of one layer.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct LayerSpectra {
    kind: AttentionKind,
    layer: usize,
    /// Largest possible numbers of components: of a head, and of all heads together.
    full: [usize; 2],
    /// Components for [`MOST`] of the variance of each head, and of all heads together.
    heads: Vec<usize>,
    together: usize,
    /// The same of random projections of the same shapes.
    random_heads: Vec<usize>,
    random_together: usize,
    /// Cumulative shares at [`POINTS`] equal shares of the components: mean head, all heads together, and those of random ones.
    curves: [Vec<f64>; 4],
}

pub fn run(subject: &mut Subject) -> Result<Findings, CliError> {
    let attentions = Attentions::of(&subject.model, &subject.kinds())?;
    let all: Vec<&Attention> =
        attentions.iter().filter(|attention| subject.kinds().contains(&attention.kind)).collect();
    subject.begin("projections", all.len());
    let mut layers = Vec::new();
    for (seed, attention) in (1..).zip(all) {
        let name = format!("projections/{}.{}", attention.kind, attention.layer);
        layers.push(subject.measure(&name, |_| Ok(measure(attention, seed)))?);
    }
    Ok(findings(&layers))
}

fn measure(attention: &Attention, seed: u64) -> LayerSpectra {
    let by_head: Vec<[DMatrix<f64>; 2]> =
        (0..attention.heads).map(|head| head_weights(attention, head)).collect();
    let together = product(&attention.queries.weight, &attention.keys.weight);
    let mut normal = Normal::new(seed);
    let random: Vec<[DMatrix<f64>; 2]> = by_head
        .iter()
        .map(|pair| pair.each_ref().map(|matrix| normal.matrix(matrix.nrows(), matrix.ncols())))
        .collect();
    let side = |side: usize| {
        let columns: Vec<_> = random.iter().flat_map(|pair| pair[side].column_iter()).collect();
        DMatrix::from_columns(&columns)
    };
    let random_together = product(&side(0), &side(1));
    let [heads, random_heads] = [&by_head, &random]
        .map(|all| all.iter().map(|[queries, keys]| product(queries, keys)).collect::<Vec<_>>());
    let components = |all: &[Spectrum]| all.iter().map(Spectrum::components_for_most).collect();
    LayerSpectra {
        kind: attention.kind,
        layer: attention.layer,
        full: [heads[0].values.len(), together.values.len()],
        heads: components(&heads),
        together: together.components_for_most(),
        random_heads: components(&random_heads),
        random_together: random_together.components_for_most(),
        curves: [
            mean_curve(&heads),
            mean_curve(&[together]),
            mean_curve(&random_heads),
            mean_curve(&[random_together]),
        ],
    }
}

/// The spectrum of `a·bᵀ`. Only as many values as it can have, from the triangular factors of both sides.
fn product(a: &DMatrix<f64>, b: &DMatrix<f64>) -> Spectrum {
    if a.ncols() >= a.nrows() {
        return Spectrum::of_matrix(a * b.transpose());
    }
    let [a, b] = [a, b].map(|side| side.clone().qr().r());
    Spectrum::of_matrix(a * b.transpose())
}

/// Mean of cumulative shares, at equal shares of the components.
fn mean_curve(spectra: &[Spectrum]) -> Vec<f64> {
    let at = |spectrum: &Spectrum, point: usize| {
        let cumulative = spectrum.cumulative();
        let place = point as f64 / (POINTS - 1) as f64 * cumulative.len() as f64;
        let before =
            |count: usize| if count == 0 { 0.0 } else { cumulative[count.min(cumulative.len()) - 1] };
        let whole = place.floor() as usize;
        before(whole) + (place - place.floor()) * (before(whole + 1) - before(whole))
    };
    let mean = |point| spectra.iter().map(|spectrum| at(spectrum, point)).sum::<f64>() / spectra.len() as f64;
    (0..POINTS).map(mean).collect()
}

impl LayerSpectra {
    /// Components of each head as a share of the largest possible number.
    fn head_shares(&self, of: &[usize]) -> Vec<f64> {
        of.iter().map(|components| *components as f64 / self.full[0] as f64).collect()
    }

    fn together_share(&self, components: usize) -> f64 {
        components as f64 / self.full[1] as f64
    }
}

fn findings(layers: &[LayerSpectra]) -> Findings {
    let mut data = Data::new(&["kind", "layer", "head", "components", "of", "components_if_random"]);
    for layer in layers {
        let of_heads = layer.heads.iter().zip(&layer.random_heads).enumerate();
        data.rows.extend(of_heads.map(|(head, (components, random))| {
            vec![
                json!(layer.kind),
                json!(layer.layer),
                json!(head),
                json!(components),
                json!(layer.full[0]),
                json!(random),
            ]
        }));
        data.rows.push(vec![
            json!(layer.kind),
            json!(layer.layer),
            json!("all"),
            json!(layer.together),
            json!(layer.full[1]),
            json!(layer.random_together),
        ]);
    }
    Findings {
        claim: "The projections of queries and keys are redundant: few components hold most of W_Q·W_Kᵀ, fewer still of all heads \
                together, because heads share them.",
        source: "Cordonnier et al. 2020, “Multi-Head Attention: Collaborate Instead of Concatenate”, section 3 and figure 1",
        method: vec![
            "W_Q·W_Kᵀ of a head, [d_model, d_model], has at most d_k singular values. All heads side by side, [d_model, heads · \
             d_k] each, have at most d_model. Their squares are the variance of a component."
                .to_owned(),
            format!(
                "Counted are the fewest components that hold {:.0} % of the variance, as a share of the largest possible number. \
                 Random projections of the same shapes, with independent normal entries, are the reference.",
                100.0 * MOST
            ),
        ],
        claims: claims(layers),
        figures: figures(layers),
        facts: Vec::new(),
        against: vec![
            "Biases of queries and keys are left out; they add scores that depend on one of the two tokens alone.".to_owned(),
            "All directions of a hidden state count alike here. Those that occur in texts may use fewer components, or more."
                .to_owned(),
            "Models that were stored in 8 bits have a little noise in every direction, which adds components.".to_owned(),
        ],
        data,
    }
}

fn claims(layers: &[LayerSpectra]) -> Vec<Claim> {
    let all =
        |shares: &dyn Fn(&LayerSpectra) -> Vec<f64>| layers.iter().flat_map(shares).collect::<Vec<f64>>();
    let own = all(&|layer| layer.head_shares(&layer.heads));
    let random = all(&|layer| layer.head_shares(&layer.random_heads));
    let minus = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<f64>>();
    let together = all(&|layer| vec![layer.together_share(layer.together)]);
    let random_together = all(&|layer| vec![layer.together_share(layer.random_together)]);
    let mean_head =
        all(&|layer| Summary::of(&layer.head_shares(&layer.heads)).map(|all| all.mean).into_iter().collect());
    let random_head = all(&|layer| {
        Summary::of(&layer.head_shares(&layer.random_heads)).map(|all| all.mean).into_iter().collect()
    });
    let ratio = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a / b).collect::<Vec<f64>>();
    let lower = |differences: &[f64]| Verdict::of(Direction::Lower, Summary::of(differences), 0.0);
    let measured = |name: &str, values: &[f64], of| Measured::new(name, values, of);
    let prediction =
        "a smaller share of components than random projections (95 % interval of the differences)";
    vec![
        Claim {
            claim: "A head's W_Q·W_Kᵀ has low rank.".into(),
            source: "often taught",
            prediction: prediction.into(),
            measured: [measured("share", &own, "heads"), measured("random", &random, "heads")]
                .into_iter()
                .flatten()
                .collect(),
            verdict: lower(&minus(&own, &random)),
            note: "beyond the d_k that its shape allows".into(),
        },
        Claim {
            claim: "W_Q·W_Kᵀ of all heads together has low rank.".into(),
            source: "section 3, figure 1",
            prediction: prediction.into(),
            measured: [measured("share", &together, "layers"), measured("random", &random_together, "layers")]
                .into_iter()
                .flatten()
                .collect(),
            verdict: lower(&minus(&together, &random_together)),
            note: String::new(),
        },
        Claim {
            claim: "Heads share their projections: together they need a smaller share of components than each alone.".into(),
            source: "section 3, figure 1",
            prediction: "together / mean head is smaller than for random projections (95 % interval of the differences)".into(),
            measured: [measured("together / mean head", &ratio(&together, &mean_head), "layers"),
                measured("random", &ratio(&random_together, &random_head), "layers"),
                measured("together", &together, "layers"), measured("mean head", &mean_head, "layers")]
                .into_iter()
                .flatten()
                .collect(),
            verdict: lower(&minus(&ratio(&together, &mean_head), &ratio(&random_together, &random_head))),
            note: "random ones show what the shapes alone do".into(),
        },
    ]
}

fn figures(layers: &[LayerSpectra]) -> Vec<Figure> {
    let x = |point: usize| point as f64 / (POINTS - 1) as f64;
    let curve = |name: &str, which: usize, is_reference: bool| {
        let of = |point: usize| layers.iter().map(|layer| layer.curves[which][point]).collect::<Vec<f64>>();
        let ends = |values: &[f64]| {
            values.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| {
                [low.min(*value), high.max(*value)]
            })
        };
        Curve {
            name: name.to_owned(),
            points: (0..POINTS)
                .map(|point| [x(point), Summary::of(&of(point)).map_or(0.0, |all| all.mean)])
                .collect(),
            band: match is_reference {
                true => Vec::new(),
                false => (0..POINTS)
                    .map(|point| {
                        let [low, high] = ends(&of(point));
                        [x(point), low, high]
                    })
                    .collect(),
            },
            is_reference,
        }
    };
    let all = [
        curve("a head", 0, false),
        curve("all heads", 1, false),
        curve("random head", 2, true),
        curve("random, all", 3, true),
    ];
    let mut rows = Vec::new();
    for layer in layers {
        rows.push(Strip {
            name: format!("{}, layer {}", layer.kind, layer.layer),
            values: layer.head_shares(&layer.heads),
            predicted: Some(layer.together_share(layer.together)),
            series: layer.kind as usize,
        });
    }
    vec![
        Figure {
            title: "Variance that the first components hold".into(),
            note: "Means over layers; bands from the least to the greatest layer.".into(),
            svg: curves(
                "Cumulative variance of W_Q·W_Kᵀ",
                [Axis::new("share of the components"), Axis::new("share of the variance").from(0.0).to(1.0)],
                &all,
            ),
            ..Figure::default()
        },
        Figure {
            title: format!("Components for {:.0} % of the variance", 100.0 * MOST),
            note: "As a share of the largest possible number. Dots: heads. Diamond: all heads of the layer together.".into(),
            svg: strips("Components by layer", Axis::new("share of the components").from(0.0).to(1.0), &rows),
            ..Figure::default()
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triangular_factors_have_the_spectrum_of_the_product() {
        let mut normal = Normal::new(5);
        let [a, b] = [normal.matrix(30, 6), normal.matrix(30, 6)];
        let (fast, whole) = (product(&a, &b), Spectrum::of_matrix(&a * b.transpose()));
        assert_eq!((fast.values.len(), whole.values.len()), (6, 30));
        for (fast, whole) in fast.values.iter().zip(&whole.values) {
            assert!((fast - whole).abs() < 1e-9 * whole, "{fast} {whole}");
        }
        let curve = mean_curve(&[fast]);
        assert_eq!((curve[0], curve.len()), (0.0, POINTS));
        assert!((curve[POINTS - 1] - 1.0).abs() < 1e-12 && curve.is_sorted());
    }
}
