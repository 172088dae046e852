//! Study *order*: what positions are for, and how far they reach.

use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};
use serde_json::json;
use wordloom::trace::AttentionKind;
use wordloom::train::pairs::SentencePair;
use wordloom::transformer::ScoreRequest;

use super::findings::{Claim, Data, Findings, Measured};
use super::numeric::{Normal, Regression};
use super::subject::{Sentence, Subject};
use crate::CliError;
use crate::study::chart::{Axis, Curve, Strip, curves, strips};
use crate::study::report::Figure;
use crate::study::statistics::{Direction, Summary, Verdict};

/// Offsets k of PE(p + k).
const OFFSETS: [usize; 6] = [1, 2, 4, 8, 16, 32];
/// Penalty of the linear map between positions.
const RIDGE: f64 = 1e-6;
/// Sentences that are read at once.
const JOINED: [usize; 4] = [1, 2, 4, 8];
/// Texts of each length at most.
const TEXTS: usize = 12;
/// Fewest texts that have a spread.
const FEWEST_TEXTS: usize = 2;
/// Explained variance from which a map is a linear function.
const LINEAR: f64 = 0.99;
/// Increase of the loss, nats per token, below which a length does not count.
const SMALL: f64 = 0.1;

/// The table of positions.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Positions {
    count: usize,
    /// Explained variance of PE(p + k) for each of [`OFFSETS`], of positions that the map was not fitted to.
    linear: Vec<f64>,
    /// The same of a table of independent normal numbers.
    random: Vec<f64>,
    /// Mean cosine of PE(p) and PE(p + k) for k = 0, 1, 2, …
    cosines: Vec<f64>,
}

/// Texts of joined sentences.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Joined {
    sentences: usize,
    tokens: Vec<f64>,
    losses: Vec<f64>,
}

/// Losses of each sentence, nats per token.
struct Losses {
    whole: Vec<f64>,
    shuffled_source: Vec<f64>,
    shuffled_target: Vec<f64>,
    /// Rises of the loss: without positions; and of a shuffled source, if the encoder has none.
    without_positions: Option<Vec<f64>>,
    shuffled_without: Option<Vec<f64>>,
}

/// Rise of the loss, nats per token, below which an order makes no difference.
const NOTHING: f64 = 0.01;

pub fn run(subject: &mut Subject) -> Result<Findings, CliError> {
    subject.load()?;
    subject.begin("order", 8 + JOINED.len());
    let whole: Vec<f64> = subject.measure("whole", |subject| subject.losses(subject.sentences()))?;
    let [shuffled_source, shuffled_target] = [true, false].map(|of_source| {
        let key = format!("order/shuffled {}", if of_source { "source" } else { "target" });
        subject.measure(&key, |subject| shuffled(subject, of_source))
    });
    let without_positions = subject.rise("positions=off")?;
    let straight = subject.rise("encoder.positions=off")?;
    let shuffled: Option<Vec<f64>> = subject
        .measure("order/shuffled source without positions", |subject| {
            subject.switched("encoder.positions=off", |subject| shuffled(subject, true))
        })?;
    let shuffled_without = straight.zip(shuffled).map(|(straight, shuffled)| {
        let rise = straight.iter().zip(&whole).zip(shuffled);
        rise.map(|((straight, whole), shuffled)| shuffled - (straight + whole)).collect()
    });
    let losses = Losses {
        whole,
        shuffled_source: shuffled_source?,
        shuffled_target: shuffled_target?,
        without_positions,
        shuffled_without,
    };
    let table: Option<Positions> = subject.measure("order/positions", |subject| {
        let table = subject.model.position_table(AttentionKind::Encoder)?;
        Ok(table.map(|table| positions(&table, subject.model.config().d_model)))
    })?;
    let (last, texts): (usize, Vec<usize>) = subject.measure("order/texts", |subject| texts(subject))?;
    let mut lengths = Vec::new();
    for sentences in JOINED.into_iter().filter(|sentences| *sentences <= last) {
        let joined: Joined = subject.measure(&format!("order/joined {sentences} of {last}"), |subject| {
            joined(subject, sentences, (last, &texts))
        })?;
        lengths.push(joined);
    }
    let lengths = Lengths { of: lengths, pairs: subject.pairs.len(), limit: subject.limit() };
    Ok(findings(&losses, table.as_ref(), &lengths))
}

/// Texts of each number of sentences, and what bounds them.
struct Lengths {
    of: Vec<Joined>,
    pairs: usize,
    limit: usize,
}

impl Lengths {
    /// Number of texts, and of sentences of the longest.
    fn texts(&self) -> [usize; 2] {
        self.of.last().map_or([0, 0], |longest| [longest.losses.len(), longest.sentences])
    }

    /// What would make more texts, or longer ones.
    fn note(&self) -> String {
        let ([texts, sentences], longest) = (self.texts(), JOINED[JOINED.len() - 1]);
        if self.pairs < TEXTS * longest {
            return format!("{TEXTS} texts of {longest} sentences need {} pairs", TEXTS * longest);
        }
        match (texts, sentences) == (TEXTS, longest) {
            true => String::new(),
            false => format!("longer texts do not fit into the model's {} positions", self.limit),
        }
    }
}

/// The pairs at which texts begin, and their sentences: as many as fit into the model's positions at once.
fn texts(subject: &Subject) -> Result<(usize, Vec<usize>), CliError> {
    for sentences in JOINED.into_iter().skip(1).rev() {
        let count = TEXTS.min(subject.pairs.len() / sentences);
        let mut texts = Vec::new();
        for first in (0..count).map(|text| text * sentences) {
            if whole(subject, first, sentences)?.is_some() {
                texts.push(first);
            }
        }
        if texts.len() >= FEWEST_TEXTS {
            return Ok((sentences, texts));
        }
    }
    Ok((0, Vec::new()))
}

/// Consecutive pairs as one text. `None` if it is too long.
fn whole(subject: &Subject, first: usize, sentences: usize) -> Result<Option<Sentence>, CliError> {
    let pairs = &subject.pairs[first..][..sentences];
    let side = |side: fn(&SentencePair) -> &str| pairs.iter().map(side).collect::<Vec<&str>>().join(" ");
    subject.pair_if_short(&side(|pair| &pair.source), &side(|pair| &pair.target))
}

/// Loss of each sentence with the tokens of one side in a random order. Those without text stay, as does the target's prompt.
fn shuffled(subject: &Subject, of_source: bool) -> Result<Vec<f64>, CliError> {
    let mut normal = Normal::new(11);
    let mut shuffle = |ids: &mut [u32]| {
        let mut order: Vec<(f64, u32)> = ids.iter().map(|id| (normal.next(), *id)).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        ids.iter_mut().zip(order).for_each(|(id, (_, new))| *id = new);
    };
    let request = |sentence: &Sentence| {
        let mut request = subject.scored(sentence);
        let text = |tokens: Vec<bool>| {
            let first = tokens.iter().position(|special| !special).unwrap_or(0);
            let last = tokens.iter().rposition(|special| !special).map_or(first, |last| last + 1);
            first..last
        };
        let traced = &sentence.traced;
        if of_source {
            let range = text(traced.source_tokens.iter().map(|token| token.special).collect());
            shuffle(&mut request.input_ids[range]);
        } else {
            let range =
                text(traced.target_tokens[traced.prompt..].iter().map(|one| one.token.special).collect());
            shuffle(&mut request.target_ids[range]);
        }
        request
    };
    let requests: Vec<ScoreRequest> = subject.sentences().iter().map(request).collect();
    subject.losses_of(&requests)
}

fn positions(table: &[f32], width: usize) -> Positions {
    let table =
        DMatrix::from_row_iterator(table.len() / width, width, table.iter().map(|&value| f64::from(value)));
    let random = Normal::new(13).matrix(table.nrows(), width);
    let linear =
        |table: &DMatrix<f64>| OFFSETS.iter().filter_map(|&offset| explained(table, offset)).collect();
    let cosine = |a: usize, b: usize| {
        let (a, b) = (table.row(a), table.row(b));
        a.dot(&b) / (a.norm() * b.norm()).max(f64::MIN_POSITIVE)
    };
    let reach = table.nrows().min(65);
    let mean = |distance: usize| {
        let pairs = table.nrows() - distance;
        (0..pairs).map(|at| cosine(at, at + distance)).sum::<f64>() / pairs.max(1) as f64
    };
    Positions {
        count: table.nrows(),
        linear: linear(&table),
        random: linear(&random),
        cosines: (0..reach).map(mean).collect(),
    }
}

/// Explained variance of PE(p + k) from PE(p): fitted to even p, tested on odd ones.
fn explained(table: &DMatrix<f64>, offset: usize) -> Option<f64> {
    let pairs = table.nrows().checked_sub(offset).filter(|pairs| *pairs >= 8)?;
    let rows = |first: usize, shift: usize| {
        let all: Vec<_> = (first..pairs).step_by(2).map(|at| table.row(at + shift)).collect();
        DMatrix::from_rows(&all)
    };
    let fitted = Regression::fit(&rows(0, 0), &rows(0, offset), RIDGE)?;
    Some(fitted.explained(&rows(1, 0), &rows(1, offset)))
}

/// Losses of texts of `last` sentences, of which some are read at once.
fn joined(subject: &Subject, sentences: usize, (last, texts): (usize, &[usize])) -> Result<Joined, CliError> {
    let (mut requests, mut tokens) = (Vec::new(), Vec::new());
    for (text, first) in texts.iter().enumerate() {
        for part in 0..last / sentences {
            // a part of a text that fits
            if let Some(sentence) = whole(subject, first + part * sentences, sentences)? {
                tokens.push(sentence.source.len() as f64);
                requests.push((text, subject.scored(&sentence)));
            }
        }
    }
    let scored: Vec<ScoreRequest> = requests.iter().map(|(_, request)| request.clone()).collect();
    let losses = subject.losses_of(&scored)?;
    // a text is one sample, whatever it is cut into
    let of_text = |text: usize| {
        let own = requests.iter().zip(&losses).filter(|((of, _), _)| *of == text);
        let (loss, count) = own.fold((0.0, 0usize), |(loss, count), ((_, request), own)| {
            (loss + own * request.target_ids.len() as f64, count + request.target_ids.len())
        });
        loss / count.max(1) as f64
    };
    Ok(Joined { sentences, tokens, losses: (0..texts.len()).map(of_text).collect() })
}

fn findings(losses: &Losses, table: Option<&Positions>, lengths: &Lengths) -> Findings {
    let [texts, sentences] = lengths.texts();
    let cut: Vec<String> = lengths
        .of
        .iter()
        .rev()
        .skip(1)
        .rev()
        .map(|one| format!("{} times {}", sentences / one.sentences, one.sentences))
        .collect();
    let mut data = Data::new(&["what", "value", "mean", "deviation", "n"]);
    let mut add = |what: &str, value: serde_json::Value, values: &[f64]| {
        let summary = Summary::of(values);
        let [mean, deviation] = [summary.map(|all| all.mean), summary.and_then(|all| all.deviation)];
        data.rows.push(vec![json!(what), value, json!(mean), json!(deviation), json!(values.len())]);
    };
    add("loss", json!("as it is"), &losses.whole);
    add("loss", json!("shuffled source"), &losses.shuffled_source);
    add("loss", json!("shuffled target"), &losses.shuffled_target);
    for Joined { sentences, tokens, losses } in &lengths.of {
        add("loss of joined sentences", json!(sentences), losses);
        add("source tokens of joined sentences", json!(sentences), tokens);
    }
    for (name, values) in
        table.iter().flat_map(|table| [("PE(p + k) explained", &table.linear), ("if random", &table.random)])
    {
        OFFSETS.iter().zip(values).for_each(|(offset, value)| add(name, json!(offset), &[*value]));
    }
    Findings {
        claim: "Attention has no order of its own: positions bring it. Sinusoids let the model find relative positions, and may \
                reach beyond the lengths of the training.",
        source: "Vaswani et al. 2017, “Attention Is All You Need”, section 3.5",
        method: vec![
            format!(
                "The loss of {} reference translations, as they are; with the tokens of the source in a random order; and with those \
                 of the target.",
                losses.whole.len()
            ),
            "PE(p + k) from PE(p): a linear map is fitted to even p and tested on odd ones. A table of random numbers is the \
             reference: 0 or less means that the map finds nothing."
                .to_owned(),
            format!(
                "Lengths: {texts} texts of {sentences} consecutive pairs, read as {}, and all at once. The loss is the mean over the \
                 same target words, but for end tokens.",
                cut.join(", ")
            ),
        ],
        claims: claims(losses, table, lengths),
        figures: figures(losses, table, lengths),
        facts: Vec::new(),
        against: vec![
            "A shuffled source is a text that the model never saw. Its loss mixes what order says with this surprise.".to_owned(),
            "Joined sentences do not belong together, so that a longer text does not help; and the lengths of the training are not \
             stored in the model."
                .to_owned(),
            "That a linear map exists does not show that a head computes it.".to_owned(),
        ],
        data,
    }
}

fn claims(losses: &Losses, table: Option<&Positions>, lengths: &Lengths) -> Vec<Claim> {
    let minus = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<f64>>();
    let mut claims = Vec::new();
    for (claim, values) in [
        ("The encoder uses the order of the source.", &losses.shuffled_source),
        ("The decoder uses the order of the target.", &losses.shuffled_target),
    ] {
        let rise = minus(values, &losses.whole);
        claims.push(Claim {
            claim: claim.into(),
            source: "section 3.5",
            prediction: "the loss rises if the tokens are shuffled (95 % interval of the differences of each sentence)".into(),
            measured: Measured::new("rise, nats per token", &rise, "sentences").into_iter().collect(),
            verdict: Verdict::of(Direction::Higher, Summary::of(&rise), 0.0),
            note: String::new(),
        });
    }
    claims.extend(losses.without_positions.as_ref().map(|rise| Claim {
        claim: "Without positions, the model does not work.".into(),
        source: "section 3.5",
        prediction: "the loss rises without them (95 % interval over sentences)".into(),
        measured: Measured::new("rise, nats per token", rise, "sentences").into_iter().collect(),
        verdict: Verdict::of(Direction::Higher, Summary::of(rise), 0.0),
        note: String::new(),
    }));
    claims.extend(losses.shuffled_without.as_ref().map(|rise| Claim {
        claim: "Attention has no order of its own: without positions in the encoder, a shuffled source is the same.".into(),
        source: "section 3.5",
        prediction: format!("shuffling changes the loss by less than {NOTHING} (95 % interval over sentences)"),
        measured: Measured::new("change, nats per token", rise, "sentences").into_iter().collect(),
        verdict: Verdict::of(Direction::Same, Summary::of(rise), NOTHING),
        note: String::new(),
    }));
    let linear = table.map_or(&[][..], |table| &table.linear);
    claims.push(Claim {
        claim: "PE(p + k) is a linear function of PE(p).".into(),
        source: "section 3.5",
        prediction: format!("the explained variance is above {LINEAR} (95 % interval over k)"),
        measured: [
            Measured::new("explained variance", linear, "offsets"),
            Measured::new("of a random table", table.map_or(&[][..], |table| &table.random), "offsets"),
        ]
        .into_iter()
        .flatten()
        .collect(),
        verdict: Verdict::of(
            Direction::Higher,
            Summary::of(&linear.iter().map(|value| value - LINEAR).collect::<Vec<_>>()),
            0.0,
        ),
        note: if table.is_some() { String::new() } else { "this model adds no table of positions".into() },
    });
    claims.push(of_length(lengths));
    claims
}

/// What a text of several sentences costs.
fn of_length(lengths: &Lengths) -> Claim {
    let (rise, long, short) = match &lengths.of[..] {
        [short, .., long] => {
            let rise = long.losses.iter().zip(&short.losses).map(|(long, short)| long - short).collect();
            (rise, &long.tokens[..], &short.tokens[..])
        }
        _ => (Vec::new(), &[][..], &[][..]),
    };
    let [_, sentences] = lengths.texts();
    let beyond: Vec<f64> = rise.iter().map(|value: &f64| value - SMALL).collect();
    Claim {
        claim: "The model reads texts that are longer than its sentences as well.".into(),
        source: "section 3.5: “may allow the model to extrapolate”",
        prediction: format!(
            "with {} sentences at once, the loss rises by less than {SMALL} (95 % interval)",
            if sentences == 0 { "several".to_owned() } else { sentences.to_string() }
        ),
        measured: [
            Measured::new("rise, nats per token", &rise, "texts"),
            Measured::new("source tokens at once", long, "texts"),
            Measured::new("source tokens of one sentence", short, "sentences"),
        ]
        .into_iter()
        .flatten()
        .collect(),
        verdict: Verdict::of(Direction::Lower, Summary::of(&beyond), 0.0),
        note: lengths.note(),
    }
}

fn figures(losses: &Losses, table: Option<&Positions>, lengths: &Lengths) -> Vec<Figure> {
    let strip = |name: &str, values: &[f64], series| Strip {
        name: name.into(),
        values: values.to_vec(),
        predicted: None,
        series,
    };
    let mut rows = vec![
        strip("as it is", &losses.whole, 0),
        strip("shuffled source", &losses.shuffled_source, 1),
        strip("shuffled target", &losses.shuffled_target, 1),
    ];
    if let Some(rise) = &losses.without_positions {
        let without: Vec<f64> = rise.iter().zip(&losses.whole).map(|(rise, whole)| rise + whole).collect();
        rows.push(strip("without positions", &without, 3));
    }
    rows.extend(lengths.of.iter().map(|one| strip(&format!("{} at once", one.sentences), &one.losses, 2)));
    let mut figures = vec![Figure {
        title: "Loss".into(),
        note: "Nats per token. A small dot for each sentence, or text of several sentences.".into(),
        svg: strips("Loss by order and length", Axis::new("nats per token").from(0.0), &rows),
        ..Figure::default()
    }];
    if let Some(table) = table {
        let points = table.cosines.iter().enumerate().map(|(distance, value)| [distance as f64, *value]);
        let curve = Curve { name: "mean over p".into(), points: points.collect(), ..Curve::default() };
        figures.push(Figure {
            title: "Positions".into(),
            note: format!("Cosine of PE(p) and PE(p + k), of {} positions.", table.count),
            svg: curves(
                "Similarity of positions",
                [Axis::new("k").from(0.0), Axis::new("cosine").to(1.0)],
                &[curve],
            ),
            ..Figure::default()
        });
    }
    figures
}
