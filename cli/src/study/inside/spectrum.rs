//! Study *spectrum*: the singular values of attention matrices of long texts.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::json;
use wordloom::readable;
use wordloom::trace::spectrum::{MOST, Spectrum};
use wordloom::trace::{AttentionKind, LayerAttention};
use wordloom::transformer::{ForwardInput, ForwardSelection};

use super::findings::{Claim, Data, Findings, Measured};
use super::subject::Subject;
use crate::CliError;
use crate::study::chart::{Axis, Curve, Strip, curves, strips};
use crate::study::report::Figure;
use crate::study::statistics::{Direction, Summary, Verdict};

/// Lengths of texts, tokens.
const LENGTHS: [usize; 3] = [128, 256, 512];
/// Texts of each length.
const TEXTS: usize = 6;
/// Share of the singular values that hold most, in the paper: 128 of 512.
const QUARTER: f64 = 0.25;
/// Points of a cumulative curve.
const POINTS: usize = 33;

/// One map of one text.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct MapSpectrum {
    layer: usize,
    head: usize,
    /// Components for [`MOST`] of the variance.
    components: usize,
    /// Singular values above rounding, as in NumPy's `matrix_rank` of f32.
    rank: usize,
    /// Sum of the first quarter of the singular values, as a share of all.
    quarter: f64,
    /// Cumulative singular values at [`POINTS`] equal shares.
    curve: Vec<f64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct TextSpectra {
    length: usize,
    text: usize,
    maps: Vec<MapSpectrum>,
}

pub fn run(subject: &mut Subject) -> Result<Findings, CliError> {
    let kind = subject.kinds().into_iter().next().unwrap_or(AttentionKind::Encoder);
    let limit = subject.model.config().source_positions().longest_input();
    let lengths: Vec<usize> = LENGTHS.into_iter().filter(|length| *length <= limit).collect();
    subject.begin("spectrum", lengths.len() * TEXTS);
    let mut texts = Vec::new();
    for &length in &lengths {
        for text in 0..TEXTS {
            let name = format!("spectrum/{length}/{text}");
            let Some(ids) = long_text(subject, length, text)? else { break };
            let spectra = subject.measure(&name, |subject| {
                let maps = maps(subject, kind, &ids)?;
                Ok(TextSpectra { length, text, maps: maps.par_iter().flat_map(spectra).collect() })
            })?;
            texts.push(spectra);
        }
    }
    let needed = pairs_needed(subject, &lengths)?;
    if texts.is_empty() {
        let tokens = LENGTHS[0];
        return Err(CliError::Input(match lengths.is_empty() {
            true => {
                format!("the study spectrum reads texts of {tokens} tokens; the model has {limit} positions")
            }
            false => format!(
                "{}: the study spectrum needs texts of {tokens} tokens; about {needed} pairs give {TEXTS} of {} tokens",
                subject.file,
                lengths[lengths.len() - 1]
            ),
        }));
    }
    let is_whole = texts.len() == lengths.len() * TEXTS;
    Ok(findings(kind, &texts, &Bounds { limit, needed: (!is_whole).then_some(needed) }))
}

/// What bounds the texts.
struct Bounds {
    /// Positions of the model.
    limit: usize,
    /// About how many pairs would give all texts, if there are too few.
    needed: Option<usize>,
}

/// About how many pairs give [`TEXTS`] of the longest length, one after the other.
fn pairs_needed(subject: &Subject, lengths: &[usize]) -> Result<usize, CliError> {
    const SAMPLE: usize = 200;
    let sample: Vec<&str> = subject.pairs.iter().take(SAMPLE).map(|pair| &*pair.source).collect();
    let tokens = subject.translator.tokenizer().encode(&sample.join(" "))?.len().max(1);
    let longest = lengths.last().copied().unwrap_or(LENGTHS[0]);
    Ok((TEXTS * longest * sample.len()).div_ceil(tokens))
}

/// Ids of consecutive sentences, cut to a length, with the last token of a text. `None` if there are too few.
fn long_text(subject: &Subject, length: usize, number: usize) -> Result<Option<Vec<u32>>, CliError> {
    let first = number * subject.pairs.len() / TEXTS;
    let mut text = String::new();
    for (count, pair) in subject.pairs[first..].iter().enumerate() {
        text += &pair.source;
        text.push(' ');
        // a sentence has at least two tokens
        if count % 8 == 7 || first + count + 1 == subject.pairs.len() {
            let mut ids = subject.translator.tokenizer().encode(&text)?;
            if ids.len() >= length {
                let last = ids[ids.len() - 1];
                ids.truncate(length - 1);
                ids.push(last);
                return Ok(Some(ids));
            }
        }
    }
    Ok(None)
}

fn maps(subject: &Subject, kind: AttentionKind, ids: &[u32]) -> Result<Vec<LayerAttention>, CliError> {
    let config = subject.model.config();
    let all: Vec<usize> = (0..config.attention_layers(kind)).collect();
    let mut selection = ForwardSelection::default();
    match kind {
        AttentionKind::Encoder => selection.encoder_attentions = all,
        _ => selection.decoder_attentions = all,
    }
    let first = config.tokens.decoder_start.filter(|_| subject.translates());
    let input = ForwardInput {
        batch: 1,
        source_length: ids.len(),
        target_length: usize::from(first.is_some()),
        input_ids: ids.to_vec(),
        attention_mask: vec![1; ids.len()],
        global_attention_mask: config.usual_global_mask(ids.len()),
        token_type_ids: Vec::new(),
        decoder_input_ids: first.into_iter().collect(),
    };
    let output = pollster::block_on(subject.translator.transformer().forward_selected(&input, &selection))?;
    let tensors =
        if kind == AttentionKind::Encoder { output.encoder_attentions } else { output.decoder_attentions };
    let layer = |(layer, tensor): (usize, wordloom::transformer::Tensor)| {
        let [_, heads, queries, keys] = tensor.shape[..] else { return None };
        Some(LayerAttention { kind, layer, heads, queries, keys, bands: None, weights: tensor.data })
    };
    Ok(tensors.into_iter().enumerate().filter_map(layer).collect())
}

fn spectra(layer: &LayerAttention) -> Vec<MapSpectrum> {
    let of_head = |head: usize| {
        let spectrum = Spectrum::of(layer.head(head));
        let shares = spectrum.cumulative_values();
        let at = |share: f64| match (share * shares.len() as f64).round() as usize {
            0 => 0.0,
            count => shares[count - 1],
        };
        let rounding = spectrum.values[0] * layer.queries.max(layer.keys) as f64 * f64::from(f32::EPSILON);
        MapSpectrum {
            layer: layer.layer,
            head,
            components: spectrum.components_for_most(),
            rank: spectrum.values.iter().filter(|value| **value > rounding).count(),
            quarter: at(QUARTER),
            curve: (0..POINTS).map(|point| at(point as f64 / (POINTS - 1) as f64)).collect(),
        }
    };
    (0..layer.heads).into_par_iter().map(of_head).collect()
}

/// Mean over texts of a value of each head, for the texts of one length.
fn by_head(texts: &[TextSpectra], length: usize, value: &dyn Fn(&MapSpectrum) -> f64) -> Vec<f64> {
    let of_length: Vec<&TextSpectra> = texts.iter().filter(|text| text.length == length).collect();
    let heads = of_length.first().map_or(0, |text| text.maps.len());
    (0..heads)
        .map(|head| {
            of_length.iter().map(|text| value(&text.maps[head])).sum::<f64>() / of_length.len() as f64
        })
        .collect()
}

fn findings(kind: AttentionKind, texts: &[TextSpectra], bounds: &Bounds) -> Findings {
    let limit = bounds.limit;
    let mut data =
        Data::new(&["length", "text", "layer", "head", "components", "numerical_rank", "first_quarter"]);
    for TextSpectra { length, text, maps } in texts {
        data.rows.extend(maps.iter().map(
            |MapSpectrum { layer, head, components, rank, quarter, .. }| {
                vec![
                    json!(length),
                    json!(text),
                    json!(layer),
                    json!(head),
                    json!(components),
                    json!(rank),
                    json!(quarter),
                ]
            },
        ));
    }
    let missing: Vec<String> =
        LENGTHS.iter().filter(|length| **length > limit).map(|length| format!("n = {length}")).collect();
    let mut against = vec![
        "The texts are sentences of a pairs file, one after the other. A model of single sentences never saw such lengths."
            .to_owned(),
        "Heads and texts are not independent samples.".to_owned(),
        "The components of a text's own matrix are counted. A layer that is made for few components would have to serve all texts."
            .to_owned(),
    ];
    if let Some(needed) = bounds.needed {
        against.push(format!(
            "There are too few pairs for {TEXTS} texts of each length: about {needed} would do."
        ));
    }
    if !missing.is_empty() {
        against.push(format!(
            "The paper measures n = 512. Not measured here: {}; the model has {limit} positions.",
            missing.join(", ")
        ));
    }
    Findings {
        claim: "Attention matrices have low rank: a few components hold most of them.",
        source: "Wang et al. 2020, “Linformer: Self-Attention with Linear Complexity”, section 3 and figure 1",
        method: vec![
            format!(
                "{}. For every head of the {kind}'s self-attention, the singular values of the attention matrix P [n, n], on the \
                 device's weights.",
                counted(texts)
            ),
            format!(
                "The paper adds up singular values; the variance is the sum of their squares. Components for {:.0} % of the \
                 variance are the fewest whose squares hold it.",
                100.0 * MOST
            ),
        ],
        claims: claims(texts, bounds),
        figures: figures(texts),
        facts: Vec::new(),
        against,
        data,
    }
}

/// `6 texts of each length n, n = 128 and n = 256`, or the number of each if they differ.
fn counted(texts: &[TextSpectra]) -> String {
    let lengths = lengths(texts);
    let count = |length: usize| texts.iter().filter(|text| text.length == length).count();
    match lengths.iter().all(|length| count(*length) == TEXTS) {
        true => {
            let lengths: Vec<String> = lengths.iter().map(|length| format!("n = {length}")).collect();
            format!("{TEXTS} texts of each length n, {}", lengths.join(" and "))
        }
        false => {
            let counts = lengths
                .iter()
                .map(|length| format!("{} of n = {length}", readable::counted(count(*length), "text")));
            counts.collect::<Vec<_>>().join(" and ")
        }
    }
}

fn lengths(texts: &[TextSpectra]) -> Vec<usize> {
    let mut lengths: Vec<usize> = texts.iter().map(|text| text.length).collect();
    lengths.dedup();
    lengths
}

fn claims(texts: &[TextSpectra], bounds: &Bounds) -> Vec<Claim> {
    let lengths = lengths(texts);
    let longest = *lengths.last().unwrap_or(&0);
    let quarters = by_head(texts, longest, &|map| map.quarter);
    let share = |length: usize| by_head(texts, length, &|map| map.components as f64 / length as f64);
    let layer_mean = |text: &TextSpectra, layer: usize| {
        let own = text.maps.iter().filter(|map| map.layer == layer).map(|map| map.quarter);
        Summary::of(&own.collect::<Vec<f64>>()).map_or(0.0, |all| all.mean)
    };
    let last = texts.iter().flat_map(|text| &text.maps).map(|map| map.layer).max().unwrap_or(0);
    let higher: Vec<f64> = texts
        .iter()
        .filter(|text| text.length == longest)
        .map(|text| layer_mean(text, last) - layer_mean(text, 0))
        .collect();
    let growth: Vec<f64> =
        share(longest).iter().zip(share(lengths[0])).map(|(long, short)| long - short).collect();
    let components = lengths.iter().filter_map(|&length| {
        let values = by_head(texts, length, &|map| map.components as f64);
        Measured::new(format!("components for {:.0} %, n = {length}", 100.0 * MOST), &values, "heads")
    });
    let ranks = Measured::new(
        format!("numerical rank, n = {longest}"),
        &by_head(texts, longest, &|map| map.rank as f64),
        "heads",
    );
    vec![
        Claim {
            claim: "The first quarter of the singular values holds more than 90 % of their sum.".into(),
            source: "figure 1, 128 of 512",
            prediction: format!("the share is above 0.9 at n = {longest} (95 % interval)"),
            measured: Measured::new("share of the first quarter", &quarters, "heads").into_iter().collect(),
            verdict: Verdict::of(
                Direction::Higher,
                Summary::of(&quarters.iter().map(|share| share - MOST).collect::<Vec<_>>()),
                0.0,
            ),
            note: match bounds.needed {
                Some(needed) => format!("at n = {longest}: there are too few pairs, about {needed} would do"),
                None if longest < LENGTHS[2] => {
                    format!("at n = {longest}, not 512: the model has {} positions", bounds.limit)
                }
                None => String::new(),
            },
        },
        Claim {
            claim: "Higher layers have a lower rank than the first.".into(),
            source: "figure 1, right",
            prediction: "the first quarter holds more in the last layer (95 % interval of the differences of each text)".into(),
            measured: Measured::new("last layer − first layer", &higher, "texts").into_iter().collect(),
            verdict: Verdict::of(Direction::Higher, Summary::of(&higher), 0.0),
            note: String::new(),
        },
        Claim {
            claim: "The number of components does not grow as fast as n.".into(),
            source: "theorem 1",
            prediction: format!(
                "components / n is smaller at n = {longest} than at n = {} (95 % interval of the differences of each head)",
                lengths[0]
            ),
            measured: components.chain(ranks).collect(),
            verdict: match longest > lengths[0] {
                true => Verdict::of(Direction::Lower, Summary::of(&growth), 0.0),
                false => Verdict::NotDecidable,
            },
            note: match bounds.needed {
                _ if longest > lengths[0] => String::new(),
                Some(needed) => format!("one length only; about {needed} pairs would do"),
                None => "one length only".into(),
            },
        },
    ]
}

fn figures(texts: &[TextSpectra]) -> Vec<Figure> {
    let lengths = lengths(texts);
    let x = |point: usize| point as f64 / (POINTS - 1) as f64;
    let curve = |&length: &usize| {
        let at = |point: usize| by_head(texts, length, &|map| map.curve[point]);
        let bands = (0..POINTS).map(|point| {
            let mut values = at(point);
            values.sort_by(f64::total_cmp);
            [x(point), values[values.len() / 10], values[values.len() - 1 - values.len() / 10]]
        });
        Curve {
            name: format!("n = {length}"),
            points: (0..POINTS)
                .map(|point| [x(point), Summary::of(&at(point)).map_or(0.0, |all| all.mean)])
                .collect(),
            band: bands.collect(),
            is_reference: false,
        }
    };
    let all: Vec<Curve> = lengths.iter().map(curve).collect();
    let longest = *lengths.last().unwrap_or(&0);
    let last = texts.iter().flat_map(|text| &text.maps).map(|map| map.layer).max().unwrap_or(0);
    let rows: Vec<Strip> = (0..=last)
        .map(|layer| {
            let of_layer: Vec<f64> = {
                let components = by_head(texts, longest, &|map| map.components as f64);
                let layers = by_head(texts, longest, &|map| map.layer as f64);
                components
                    .iter()
                    .zip(layers)
                    .filter(|(_, own)| *own == layer as f64)
                    .map(|(value, _)| *value)
                    .collect()
            };
            Strip { name: format!("layer {layer}"), values: of_layer, predicted: None, series: 0 }
        })
        .collect();
    vec![
        Figure {
            title: "Sum of the first singular values".into(),
            note: "As a share of all. Means over heads and texts; bands from the 10 % to the 90 % quantile of heads.".into(),
            svg: curves(
                "Cumulative singular values of attention matrices",
                [Axis::new("share of the singular values"), Axis::new("share of their sum").from(0.0).to(1.0)],
                &all,
            ),
            ..Figure::default()
        },
        Figure {
            title: format!("Components for {:.0} % of the variance, n = {longest}", 100.0 * MOST),
            note: format!("Of {longest}. A small dot for each head, the mean of the texts."),
            svg: strips("Components by layer", Axis::new("components").from(0.0), &rows),
            ..Figure::default()
        },
    ]
}
