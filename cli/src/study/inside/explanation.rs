//! Study *explanation*: attention, attention rollout, occlusion and value-zeroing beside each other.

use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};
use serde_json::json;
use wordloom::trace::AttentionKind;
use wordloom::trace::alignment::link;
use wordloom::transformer::{ForwardInput, ForwardSelection};

use super::attention::{Attentions, Inside};
use super::findings::{Claim, Data, Findings, Measured};
use super::gold::{Aligned, aligned};
use super::numeric::spearman;
use super::subject::{Sentence, Subject};
use super::words::{by_words, words_of};
use crate::CliError;
use crate::study::chart::{Axis, Strip, strips};
use crate::study::report::Figure;
use crate::study::statistics::{Direction, Summary, Verdict};

const METHODS: [&str; 4] = ["attention", "rollout", "value-zeroing", "occlusion"];
const ATTENTION: usize = 0;
const ROLLOUT: usize = 1;
const VALUES: usize = 2;
const OCCLUSION: usize = 3;
/// Pairs of methods.
const PAIRS: [[usize; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
/// Rank correlation below which two methods do not agree.
const AGREE: f64 = 0.5;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Compared {
    sentence: String,
    /// Mean over target tokens of the rank correlation of each pair of methods; `None` if it is undefined.
    correlations: Vec<Option<f64>>,
    /// Of each method.
    error: Vec<f64>,
    /// Of linking the diagonal.
    diagonal_error: f64,
    links: usize,
}

pub fn run(subject: &mut Subject) -> Result<Findings, CliError> {
    let all = aligned()?;
    subject.begin("explanation", all.len());
    let attentions = Attentions::of(&subject.model, &subject.kinds())?;
    let mut compared = Vec::new();
    for (number, pair) in all.iter().enumerate() {
        let work = |subject: &mut Subject| compare(subject, &attentions, pair);
        compared.push(subject.measure(&format!("explanation/{number}"), work)?);
    }
    Ok(findings(&compared))
}

fn compare(subject: &Subject, attentions: &Attentions, pair: &Aligned) -> Result<Compared, CliError> {
    let sentence = subject.pair(&pair.source, &pair.target)?;
    let scores = [
        attention(&sentence),
        rollout(&sentence),
        value_zeroing(subject, attentions, &sentence)?,
        occlusion(subject, &sentence)?,
    ];
    let keys = sentence.traced.key_tokens(AttentionKind::Cross);
    // an end token has no words to explain
    let texts: Vec<usize> = (0..keys.len()).filter(|&key| !keys[key].special).collect();
    let correlation = |[a, b]: [usize; 2]| {
        let of = |method: usize, row: usize| {
            texts.iter().map(|&key| scores[method][(row, key)]).collect::<Vec<f64>>()
        };
        let rows = (0..scores[a].nrows()).filter_map(|row| spearman(&of(a, row), &of(b, row)));
        Summary::of(&rows.collect::<Vec<f64>>()).map(|all| all.mean)
    };
    let sizes = [&pair.target, &pair.source].map(|text| text.split_whitespace().count());
    let queries = sentence.traced.query_tokens(AttentionKind::Cross);
    let words = [words_of(&queries, &pair.target), words_of(&keys, &pair.source)];
    let error = |scores: &DMatrix<f64>| {
        let masses = by_words(scores, [&words[0], &words[1]], sizes);
        // links need masses, and an occluded token can also make a translation more probable
        let masses: Vec<f64> = masses.transpose().iter().map(|mass| mass.max(0.0)).collect();
        alignment_error(&link(&masses, sizes[1]), &pair.links)
    };
    let diagonal = |target: usize| ((target as f64 + 0.5) * sizes[1] as f64 / sizes[0] as f64) as usize;
    let straight: Vec<(usize, usize)> = (0..sizes[0]).map(|target| (diagonal(target), target)).collect();
    Ok(Compared {
        sentence: pair.source.clone(),
        correlations: PAIRS.map(correlation).into(),
        error: scores.iter().map(error).collect(),
        diagonal_error: alignment_error(&straight, &pair.links),
        links: pair.links.len(),
    })
}

/// Alignment error rate with sure links alone: `1 − 2·|found ∩ gold| / (|found| + |gold|)`. Och & Ney 2003.
fn alignment_error(found: &[(usize, usize)], gold: &[(usize, usize)]) -> f64 {
    let both = found.iter().filter(|link| gold.contains(link)).count();
    1.0 - 2.0 * both as f64 / (found.len() + gold.len()).max(1) as f64
}

/// The mean over heads of a layer of cross-attention: the one that `wordloom align` takes.
fn cross(sentence: &Sentence) -> DMatrix<f64> {
    let chosen = sentence.traced.alignment().layer.unwrap_or_default();
    match sentence.traced.layer(AttentionKind::Cross, chosen) {
        Some(layer) => {
            let mean = layer.mean();
            DMatrix::from_row_iterator(
                layer.queries,
                layer.keys,
                mean.iter().map(|&weight| f64::from(weight)),
            )
        }
        None => DMatrix::zeros(0, 0),
    }
}

fn attention(sentence: &Sentence) -> DMatrix<f64> {
    cross(sentence)
}

/// Cross-attention to the source tokens behind the states: times the product of ½(A + I) of the encoder's layers. Abnar & Zuidema
/// 2020, section 3.
fn rollout(sentence: &Sentence) -> DMatrix<f64> {
    let tokens = sentence.source.len();
    let mut product = DMatrix::identity(tokens, tokens);
    for layer in sentence.traced.layers(AttentionKind::Encoder) {
        let mean = layer.mean();
        let weights =
            DMatrix::from_row_iterator(tokens, tokens, mean.iter().map(|&weight| f64::from(weight)));
        product = (weights + DMatrix::identity(tokens, tokens)).scale(0.5) * product;
    }
    cross(sentence) * product
}

/// How much a target token's state changes, after the block of cross-attention, if the values of one source token are zeros: the
/// cosine distance, the mean over layers. Mohebbi et al. 2023, section 3, for cross-attention.
fn value_zeroing(
    subject: &Subject,
    attentions: &Attentions,
    sentence: &Sentence,
) -> Result<DMatrix<f64>, CliError> {
    let pass = subject.pass(&sentence.source, &sentence.target)?;
    let layers = attentions.open(&pass, &[AttentionKind::Cross]);
    let mut sum = DMatrix::zeros(sentence.target.len() - 1, sentence.source.len());
    for inside in &layers {
        sum += zeroed(inside);
    }
    Ok(sum.unscale(layers.len().max(1) as f64))
}

fn zeroed(inside: &Inside) -> DMatrix<f64> {
    let outputs = inside.outputs();
    let after = inside.after();
    let keys = inside.heads.first().map_or(0, |head| head.values.nrows());
    let mut distances = DMatrix::zeros(after.nrows(), keys);
    for key in 0..keys {
        let without: Vec<DMatrix<f64>> = outputs
            .iter()
            .zip(inside.heads.iter().zip(&inside.weights))
            .map(|(output, (head, weights))| output - weights.column(key) * head.values.row(key))
            .collect();
        let changed = inside.attention.after(&inside.states, &inside.attention.summed(&without));
        for query in 0..after.nrows() {
            let (a, b) = (after.row(query), changed.row(query));
            distances[(query, key)] = 1.0 - a.dot(&b) / (a.norm() * b.norm()).max(f64::MIN_POSITIVE);
        }
    }
    distances
}

/// How much the log-probability of a target token falls if a source token is masked.
fn occlusion(subject: &Subject, sentence: &Sentence) -> Result<DMatrix<f64>, CliError> {
    let config = subject.model.config();
    let (source, read) = (&sentence.source, &sentence.target[..sentence.target.len() - 1]);
    // the last row is the whole source
    let rows = source.len() + 1;
    let mask = (0..rows).flat_map(|row| (0..source.len()).map(move |key| u32::from(key != row)));
    let repeated = |ids: &[u32]| ids.iter().copied().cycle().take(rows * ids.len()).collect::<Vec<u32>>();
    let input = ForwardInput {
        batch: rows,
        source_length: source.len(),
        target_length: read.len(),
        input_ids: repeated(source),
        attention_mask: mask.collect(),
        global_attention_mask: repeated(&config.usual_global_mask(source.len())),
        token_type_ids: Vec::new(),
        decoder_input_ids: repeated(read),
    };
    let selection = ForwardSelection { logits: true, ..ForwardSelection::default() };
    let output = pollster::block_on(subject.translator.transformer().forward_selected(&input, &selection))?;
    let vocabulary = config.target_vocabulary;
    let log_probability = |row: usize, at: usize| {
        let logits = &output.logits.data[(row * read.len() + at) * vocabulary..][..vocabulary];
        let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = logits.iter().map(|&logit| f64::from(logit - largest).exp()).sum();
        f64::from(logits[sentence.target[at + 1] as usize] - largest) - sum.ln()
    };
    let whole: Vec<f64> = (0..read.len()).map(|at| log_probability(source.len(), at)).collect();
    Ok(DMatrix::from_fn(read.len(), source.len(), |at, key| whole[at] - log_probability(key, at)))
}

fn findings(compared: &[Compared]) -> Findings {
    let mut columns = vec!["sentence", "links"];
    columns.extend([
        "attention_rollout",
        "attention_value_zeroing",
        "attention_occlusion",
        "rollout_value_zeroing",
        "rollout_occlusion",
        "value_zeroing_occlusion",
        "error_attention",
        "error_rollout",
        "error_value_zeroing",
        "error_occlusion",
        "error_diagonal",
    ]);
    let mut data = Data::new(&columns);
    data.rows = compared
        .iter()
        .map(|one| {
            let mut row = vec![json!(one.sentence), json!(one.links)];
            row.extend(one.correlations.iter().map(|value| json!(value)));
            row.extend(one.error.iter().chain([&one.diagonal_error]).map(|value| json!(value)));
            row
        })
        .collect();
    Findings {
        claim: "Attention shows which source words a translated word comes from.",
        source: "Bahdanau et al. 2015, section 5.2; against it Jain & Wallace 2019, “Attention is not Explanation”; Abnar & Zuidema \
                 2020, “Quantifying Attention Flow in Transformers”; Mohebbi et al. 2023, “Quantifying Context Mixing in Transformers”",
        method: vec![
            "40 English–German pairs, aligned by hand for this study (CC0, cli/data/alignments-en-de.txt). Each method gives a \
             number for each source token and each token of the given translation."
                .to_owned(),
            "Attention: the mean over heads of the layer of cross-attention that is most confident, as `wordloom align` takes it. \
             Rollout: the same, times the product of ½(A + I) of the encoder's layers. Value-zeroing: how far the target token's \
             state after the block of cross-attention turns (cosine) if the source token's values are zeros, the mean over layers. \
             Occlusion: by how much the token's log-probability falls if the source token is masked."
                .to_owned(),
            "Agreement: Spearman's rank correlation over the source tokens with text, the mean over target tokens of a sentence."
                .to_owned(),
            "Alignment error rate against the gold links, with the same rule for all: a target word is linked to its best source \
             word, and to one that it is the best of (docs/trace.md). Diagonal: word i of the target with word i of the source."
                .to_owned(),
        ],
        claims: claims(compared),
        figures: figures(compared),
        facts: Vec::new(),
        against: vec![
            "Occlusion is taken as the truth about what the model uses. But it makes inputs that the model never saw, and words \
             that say the same can each be left out."
                .to_owned(),
            "The translations are given, not the model's own. The gold pairs are short and easy; German word order still differs."
                .to_owned(),
            "Value-zeroing is measured before the feed-forward network here, and in cross-attention only.".to_owned(),
        ],
        data,
    }
}

/// The values of the sentences that have both.
fn both(compared: &[Compared], a: usize, b: usize) -> [Vec<f64>; 2] {
    let pairs = compared.iter().filter_map(|one| Some((one.correlations[a]?, one.correlations[b]?)));
    let (a, b) = pairs.unzip();
    [a, b]
}

fn pair_of(a: usize, b: usize) -> usize {
    PAIRS.iter().position(|pair| *pair == [a, b]).unwrap_or_default()
}

fn claims(compared: &[Compared]) -> Vec<Claim> {
    let agreement = |method: usize| pair_of(method, OCCLUSION);
    let own: Vec<f64> = compared.iter().filter_map(|one| one.correlations[agreement(ATTENTION)]).collect();
    let minus = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<f64>>();
    let mut claims = vec![Claim {
        claim: "Attention is not what the prediction depends on: it hardly agrees with occlusion.".into(),
        source: "Jain & Wallace 2019, section 4.1",
        prediction: format!("the rank correlation is below {AGREE} (95 % interval over sentences)"),
        measured: Measured::new("rank correlation", &own, "sentences").into_iter().collect(),
        verdict: Verdict::of(
            Direction::Lower,
            Summary::of(&own.iter().map(|value| value - AGREE).collect::<Vec<_>>()),
            0.0,
        ),
        note: String::new(),
    }];
    for (method, claim, source) in [
        (
            ROLLOUT,
            "Rollout agrees better with occlusion than attention does.",
            "Abnar & Zuidema 2020, section 4",
        ),
        (
            VALUES,
            "Value-zeroing agrees better with occlusion than attention does.",
            "Mohebbi et al. 2023, section 5",
        ),
    ] {
        let [theirs, attention] = both(compared, agreement(method), agreement(ATTENTION));
        claims.push(Claim {
            claim: claim.into(),
            source,
            prediction: "the rank correlation is higher (95 % interval of the differences of each sentence)"
                .into(),
            measured: [
                Measured::new(METHODS[method], &theirs, "sentences"),
                Measured::new("attention", &attention, "sentences"),
            ]
            .into_iter()
            .flatten()
            .collect(),
            verdict: Verdict::of(Direction::Higher, Summary::of(&minus(&theirs, &attention)), 0.0),
            note: String::new(),
        });
    }
    let error = |method: usize| compared.iter().map(|one| one.error[method]).collect::<Vec<f64>>();
    let diagonal: Vec<f64> = compared.iter().map(|one| one.diagonal_error).collect();
    for (method, than, claim, source) in [
        (
            ATTENTION,
            &diagonal,
            "Attention aligns words better than the diagonal does.",
            "Bahdanau et al. 2015, section 5.2",
        ),
        (
            OCCLUSION,
            &error(ATTENTION),
            "Occlusion aligns words better than attention does.",
            "Li et al. 2019, “On the Word Alignment from Neural Machine Translation”",
        ),
    ] {
        let name = if method == ATTENTION { "diagonal" } else { "attention" };
        claims.push(Claim {
            claim: claim.into(),
            source,
            prediction: "the error rate is lower (95 % interval of the differences of each sentence)".into(),
            measured: [
                Measured::new(format!("error, {}", METHODS[method]), &error(method), "sentences"),
                Measured::new(format!("error, {name}"), than, "sentences"),
            ]
            .into_iter()
            .flatten()
            .collect(),
            verdict: Verdict::of(Direction::Lower, Summary::of(&minus(&error(method), than)), 0.0),
            note: String::new(),
        });
    }
    claims
}

fn figures(compared: &[Compared]) -> Vec<Figure> {
    let agreement: Vec<Strip> = PAIRS
        .iter()
        .enumerate()
        .map(|(place, [a, b])| Strip {
            name: format!("{}, {}", METHODS[*a], METHODS[*b]),
            values: compared.iter().filter_map(|one| one.correlations[place]).collect(),
            predicted: None,
            series: usize::from(*b == OCCLUSION),
        })
        .collect();
    let mut errors: Vec<Strip> = METHODS
        .iter()
        .enumerate()
        .map(|(method, name)| Strip {
            name: (*name).to_owned(),
            values: compared.iter().map(|one| one.error[method]).collect(),
            predicted: None,
            series: 0,
        })
        .collect();
    errors.push(Strip {
        name: "diagonal".into(),
        values: compared.iter().map(|one| one.diagonal_error).collect(),
        predicted: None,
        series: 5,
    });
    vec![
        Figure {
            title: "Agreement".into(),
            note: "Spearman's rank correlation of two methods. A small dot for each sentence.".into(),
            svg: strips("Agreement of methods", Axis::new("rank correlation").from(-1.0).to(1.0), &agreement),
            ..Figure::default()
        },
        Figure {
            title: "Alignment error rate".into(),
            note: "Against links by hand. A small dot for each sentence; left is better.".into(),
            svg: strips("Alignment error rate", Axis::new("error rate").from(0.0).to(1.0), &errors),
            ..Figure::default()
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_och_and_ney_s() {
        let gold = [(0, 0), (1, 1), (2, 2)];
        assert!(alignment_error(&gold, &gold).abs() < 1e-12);
        // one of two found links is right: 1 − 2 · 1 / (2 + 3)
        assert!((alignment_error(&[(0, 0), (0, 1)], &gold) - 0.6).abs() < 1e-12);
        assert!((alignment_error(&[], &gold) - 1.0).abs() < 1e-12);
    }
}
