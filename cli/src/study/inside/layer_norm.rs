//! Study *layer-norm*: what a trained model learns with its norms alone.

use std::path::{Path, PathBuf};

use serde_json::json;
use wordloom::model::files::ModelFiles;
use wordloom::readable::counted;
use wordloom::train::pairs::PairsOptions;
use wordloom::train::session::{Corpus, PairSource};
use wordloom::transformer::Cancel;
use wordloom::{DeviceChoice, Model, TranslateOptions};

use super::findings::{Claim, Data, Findings, Measured};
use super::log::Log;
use super::pages::{self, About};
use super::tuning::{Bench, Course, Tuned};
use crate::setup::{ModelArguments, count, model_files, open_device, whole};
use crate::study::chart::{Axis, Strip, strips};
use crate::study::report::Figure;
use crate::study::runs::Settings;
use crate::study::statistics::{Direction, Summary, Verdict};
use crate::train::PrecisionName;
use crate::{CliError, interrupt, notice};

const TITLE: &str = "What do norms learn alone?";
/// Fewest dev pairs that say anything.
const FEWEST: usize = 20;
/// Seeds of a verdict; more only narrow the intervals.
const SEEDS: std::ops::RangeInclusive<u64> = 2..=10;
/// Parts of the names of norms' tensors.
const NORMS: &[&str] = &["norm"];
/// Biases of the feed-forward networks, about as many parameters as the norms have, by the names that families use.
const BIASES: &[&[&str]] = &[&["fc1.bias", "fc2.bias"], &["linear1.bias", "linear2.bias"]];
/// Smaller differences of the dev loss count as none, nats.
const SMALL_LOSS: f64 = 0.02;

#[derive(clap::Args)]
#[command(after_help = "\
Each seed trains the model three times: its norms alone, about as many biases,
and all weights. FILE.html gets the page. Beside it stand FILE.md, FILE.csv,
FILE.json, and FILE.jsonl, from which the same command goes on.")]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArguments,
    /// Lines SOURCE TAB TARGET, or two files; or gzip
    #[arg(long, value_name = "FILE", required = true, num_args = 1..=2)]
    pairs: Vec<PathBuf>,
    /// Pairs to test with [default: some of --pairs]
    #[arg(long, value_name = "FILE", num_args = 1..=2)]
    dev: Vec<PathBuf>,
    /// Ignore columns after the second
    #[arg(long)]
    ignore_columns: bool,
    /// Read the columns as TARGET TAB SOURCE
    #[arg(long)]
    swap: bool,
    /// The page: a .html file
    #[arg(short, long, value_name = "FILE", default_value = "layer-norm.html")]
    output: PathBuf,
    /// Runs of each kind, with seeds 1 to N
    #[arg(long, value_name = "N", value_parser = whole, default_value = "3")]
    seeds: u64,
    /// Steps of each run
    #[arg(long, value_name = "N", value_parser = count, default_value = "200")]
    steps: usize,
    /// Target tokens of a batch
    #[arg(long, value_name = "N", value_parser = count, default_value = "512")]
    batch_tokens: usize,
    /// Peak learning rate of all weights
    #[arg(long, value_name = "RATE", default_value = "5e-4")]
    learning_rate: f64,
    /// Peak rate of norms and of biases
    #[arg(long, value_name = "RATE", default_value = "1e-2")]
    small_rate: f64,
    /// Products in f32, or in bf16
    #[arg(long, value_name = "TYPE", value_enum, default_value = "f32", hide_possible_values = true)]
    precision: PrecisionName,
    /// auto, gpu, cpu, or a GPU's name
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: DeviceChoice,
}

/// A kind of run.
struct Kind {
    name: &'static str,
    only: &'static [&'static str],
    rate: f64,
}

/// The results of all runs.
struct Results {
    before: Tuned,
    kinds: Vec<(&'static str, Vec<Tuned>)>,
    parameters: u64,
}

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let cancel = interrupt::handler();
    let stem = arguments.output.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    if arguments.output.extension().is_none_or(|kind| kind != "html") || stem.is_empty() {
        let problem = "it must end in .html; the other files get the same name";
        return Err(CliError::Usage(format!("--output is {}; {problem}", arguments.output.display())));
    }
    check(arguments)?;
    let corpus = corpus(arguments)?;
    let files = model_files(arguments.model.model.as_deref())?;
    let settings = settings(arguments, &corpus)?;
    let folder = arguments.output.parent().map_or_else(PathBuf::new, Path::to_path_buf);
    if !folder.as_os_str().is_empty() {
        std::fs::create_dir_all(&folder).map_err(|error| crate::output::cannot_write(&folder, error))?;
    }
    let mut log = Log::open(&folder.join(format!("{stem}.jsonl")), &settings)?;
    let bench = bench(arguments, files, &corpus)?;
    let model = bench.model()?;
    let kinds = kinds(arguments, &model)?;
    let results = interrupt::working(|| measure(arguments, &bench, &kinds, &mut log, &cancel))?;
    let findings = findings(arguments, &bench, &results);
    let about = about(&bench, &model, &corpus);
    pages::write((&folder, stem), TITLE, &findings, &about, &pages::command())?;
    for claim in &findings.claims {
        notice(&format!("layer-norm: {}: {}", pages::verdict(claim.verdict), claim.claim));
    }
    notice(&format!("{}: the page", arguments.output.display()));
    Ok(())
}

/// Checks the numbers before anything is read.
fn check(arguments: &Arguments) -> Result<(), CliError> {
    let Arguments { seeds, steps, batch_tokens, learning_rate, small_rate, .. } = *arguments;
    let usage = |problem: String| Err(CliError::Usage(problem));
    if !SEEDS.contains(&seeds) {
        let (least, most) = SEEDS.into_inner();
        return usage(format!("--seeds is {seeds}; it must be {least} to {most}"));
    }
    for (option, number) in [("--steps", steps), ("--batch-tokens", batch_tokens)] {
        if number == 0 {
            return usage(format!("{option} is 0; it must be at least 1"));
        }
    }
    for (option, rate) in [("--learning-rate", learning_rate), ("--small-rate", small_rate)] {
        if !(rate.is_finite() && rate > 0.0) {
            return usage(format!("{option} is {rate}; it must be a number above 0"));
        }
    }
    Ok(())
}

fn corpus(arguments: &Arguments) -> Result<Corpus, CliError> {
    let options = PairsOptions { ignore_columns: arguments.ignore_columns, ..PairsOptions::default() };
    let [pairs, dev] = [&arguments.pairs, &arguments.dev].map(|files| PairSource::of_files(files));
    let corpus = Corpus::load(pairs, dev, arguments.swap, &options)?;
    corpus.notes.iter().for_each(|line| notice(line));
    if corpus.dev.len() < FEWEST {
        let problem = format!(
            "the dev set has {}; a study needs at least {FEWEST} to say anything; --dev gives others",
            counted(corpus.dev.len(), "pair")
        );
        return Err(CliError::Input(problem));
    }
    Ok(corpus)
}

fn settings(arguments: &Arguments, corpus: &Corpus) -> Result<Settings, CliError> {
    let settings = [
        ("the model", arguments.model.identity()?),
        ("the training data", Corpus::digest(&corpus.train)),
        ("the dev set", Corpus::digest(&corpus.dev)),
        ("--steps", arguments.steps.to_string()),
        ("--batch-tokens", arguments.batch_tokens.to_string()),
        ("--learning-rate", arguments.learning_rate.to_string()),
        ("--small-rate", arguments.small_rate.to_string()),
        ("--precision", arguments.precision.name().to_owned()),
    ];
    Ok(settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn bench(arguments: &Arguments, files: ModelFiles, corpus: &Corpus) -> Result<Bench, CliError> {
    let device = open_device(&arguments.device)?;
    let numbers = (arguments.batch_tokens, arguments.precision.products());
    Bench::new((files, TranslateOptions::default()), device, corpus, numbers)
}

/// Norms, biases if the model's names are known, and all weights.
fn kinds(arguments: &Arguments, model: &Model) -> Result<Vec<Kind>, CliError> {
    let entries = model.blueprint().table.entries();
    let has = |part: &str| entries.iter().any(|entry| entry.name.contains(part));
    if !NORMS.iter().all(|part| has(part)) {
        let problem = "has no norms by name, which the study trains";
        return Err(CliError::Input(format!("{} {problem}", model.label())));
    }
    let biases = BIASES.iter().find(|parts| parts.iter().all(|part| has(part)));
    let small = arguments.small_rate;
    let mut kinds = vec![Kind { name: "norms", only: NORMS, rate: small }];
    kinds.extend(biases.map(|parts| Kind { name: "biases", only: parts, rate: small }));
    kinds.push(Kind { name: "all", only: &[], rate: arguments.learning_rate });
    Ok(kinds)
}

fn measure(
    arguments: &Arguments,
    bench: &Bench,
    kinds: &[Kind],
    log: &mut Log,
    cancel: &Cancel,
) -> Result<Results, CliError> {
    let mut once = |name: String, course: Course<'_>| -> Result<Tuned, CliError> {
        if let Some(found) = log.find(&name) {
            return Ok(found);
        }
        let tuned = pollster::block_on(bench.run(&course, cancel))?;
        notice(&format!("{name}: dev loss {:.3}, BLEU {:.1}", tuned.loss, tuned.bleu));
        log.add(&name, &tuned)?;
        Ok(tuned)
    };
    let untrained = Course { only: &[], learning_rate: 1.0, steps: 0, seed: 1 };
    let before = once("before".to_owned(), untrained)?;
    let mut results: Vec<(&'static str, Vec<Tuned>)> =
        kinds.iter().map(|kind| (kind.name, Vec::new())).collect();
    for seed in 1..=arguments.seeds {
        for (kind, (name, runs)) in kinds.iter().zip(&mut results) {
            let course =
                Course { only: kind.only, learning_rate: kind.rate, steps: arguments.steps as u64, seed };
            runs.push(once(format!("{name}, seed {seed}"), course)?);
        }
    }
    let parameters = bench.model()?.config().parameter_count();
    Ok(Results { before, kinds: results, parameters })
}

impl Results {
    fn of(&self, name: &str) -> Option<&[Tuned]> {
        self.kinds.iter().find(|(kind, _)| *kind == name).map(|(_, runs)| &runs[..])
    }

    fn values(&self, name: &str, value: fn(&Tuned) -> f64) -> Vec<f64> {
        self.of(name).unwrap_or_default().iter().map(value).collect()
    }

    /// The claims that the runs allow.
    fn claims(&self) -> Vec<Claim> {
        let [norms, all, biases] = ["norms", "all", "biases"].map(|name| self.values(name, |run| run.loss));
        let before = self.before.loss;
        let gained: Vec<f64> = norms.iter().map(|loss| loss - before).collect();
        let shares: Vec<f64> =
            norms.iter().zip(&all).map(|(norms, all)| (before - norms) / (before - all)).collect();
        let beyond_half: Vec<f64> = shares.iter().map(|share| share - 0.5).collect();
        let mut claims = vec![
            Claim {
                claim: "Norms alone learn: the dev loss falls while all other weights stay.".to_owned(),
                source: "Frankle et al. 2021; Lu et al. 2021",
                prediction: format!(
                    "the interval of 95 % of the difference from before lies below 0; not seen within ±{SMALL_LOSS} nats"
                ),
                measured: Measured::new("dev loss − before", &gained, "seeds").into_iter().collect(),
                verdict: Verdict::of(Direction::Lower, Summary::of(&gained), SMALL_LOSS),
                note: String::new(),
            },
            Claim {
                claim: "Norms alone reach most of what all weights reach.".to_owned(),
                source: "Lu et al. 2021",
                prediction: "the interval of 95 % of the share of the gain lies above a half".to_owned(),
                measured: Measured::new("share of the gain in dev loss", &shares, "seeds")
                    .into_iter()
                    .collect(),
                verdict: Verdict::of(Direction::Higher, Summary::of(&beyond_half), 0.0),
                note: String::new(),
            },
        ];
        if !biases.is_empty() {
            let beside: Vec<f64> = norms.iter().zip(&biases).map(|(norms, biases)| norms - biases).collect();
            claims.push(Claim {
                claim: "Norms learn more than about as many other parameters do.".to_owned(),
                source: "Frankle et al. 2021",
                prediction: format!(
                    "the interval of 95 % of the difference from feed-forward biases lies below 0; not seen within ±{SMALL_LOSS} nats"
                ),
                measured: Measured::new("dev loss − that with biases", &beside, "seeds").into_iter().collect(),
                verdict: Verdict::of(Direction::Lower, Summary::of(&beside), SMALL_LOSS),
                note: String::new(),
            });
        }
        claims
    }

    fn facts(&self) -> Vec<[String; 3]> {
        let spread = |values: &[f64], digits: usize| match Summary::of(values) {
            Some(Summary { mean, deviation: Some(deviation), .. }) => {
                format!("{mean:.digits$} ± {deviation:.digits$}")
            }
            Some(Summary { mean, .. }) => format!("{mean:.digits$}"),
            None => "–".to_owned(),
        };
        let before = format!("dev loss; BLEU {:.1}", self.before.bleu);
        let first = ["Before".to_owned(), format!("{:.3}", self.before.loss), before];
        let kinds = self.kinds.iter().map(|(name, runs)| {
            let loss = spread(&self.values(name, |run| run.loss), 3);
            let bleu = spread(&self.values(name, |run| run.bleu), 1);
            let trained = runs.first().map_or(0, |run| run.trained);
            let share = 100.0 * trained as f64 / self.parameters.max(1) as f64;
            let note =
                format!("dev loss; BLEU {bleu} (n {} seeds); {trained} parameters, {share:.2} %", runs.len());
            [named(name).to_owned(), loss, note]
        });
        [first].into_iter().chain(kinds).collect()
    }

    fn data(&self) -> Data {
        let mut data = Data::new(&["trained", "seed", "parameters", "dev_loss", "bleu", "seconds"]);
        let row = |name: &str, seed: usize, run: &Tuned| {
            vec![
                json!(name),
                json!(seed),
                json!(run.trained),
                json!(run.loss),
                json!(run.bleu),
                json!(run.seconds),
            ]
        };
        data.rows.push(row("nothing", 0, &self.before));
        for (name, runs) in &self.kinds {
            data.rows.extend((1..).zip(runs).map(|(seed, run)| row(name, seed, run)));
        }
        data
    }

    fn figure(&self, title: &str, value: fn(&Tuned) -> f64) -> Figure {
        let mut rows =
            vec![Strip { name: "before".to_owned(), values: vec![value(&self.before)], ..Strip::default() }];
        rows.extend((1..).zip(&self.kinds).map(|(series, (name, runs))| Strip {
            name: named(name).to_owned(),
            values: runs.iter().map(value).collect(),
            predicted: None,
            series,
        }));
        Figure {
            title: title.to_owned(),
            note: "a dot for each seed, and their mean".to_owned(),
            svg: strips(title, Axis::new(title), &rows),
            ..Figure::default()
        }
    }
}

fn named(kind: &str) -> &str {
    match kind {
        "norms" => "norms alone",
        "biases" => "feed-forward biases",
        _ => "all weights",
    }
}

fn findings(arguments: &Arguments, bench: &Bench, results: &Results) -> Findings {
    let [_, dev, translated] = bench.counts();
    Findings {
        claim: "A trained network learns a new task with its norms alone, much as with all weights.",
        source: "Frankle et al. 2021, “Training BatchNorm and Only BatchNorm”; Lu et al. 2021, “Pretrained Transformers as Universal \
                 Computation Engines”",
        method: vec![
            format!(
                "The model is trained further for {} steps of at most {} target tokens, from the same weights each time: its norms \
                 alone (their scales and shifts), the biases of its feed-forward networks, or all weights.",
                arguments.steps, arguments.batch_tokens
            ),
            format!(
                "Adam with dropout 0.1 and label smoothing 0.1; peaks of {:e} for all weights and of {:e} for norms and biases, which \
                 need larger steps; warm-up over the first tenth, a fall to 0 over the last 30 %.",
                arguments.learning_rate, arguments.small_rate
            ),
            format!(
                "The seed decides the order of the batches and the dropout. Dev loss: nats per target token of {dev} pairs. BLEU: greedy \
                 search, {translated} of them."
            ),
        ],
        claims: results.claims(),
        figures: vec![
            results.figure("Dev loss, nats per token", |run| run.loss),
            results.figure("BLEU", |run| run.bleu),
        ],
        facts: results.facts(),
        against: [
            "Few steps. All weights learn for longer, and the share of norms then falls.",
            "One learning rate for each kind, not the best of several.",
            "Frankle et al. train random convolutional networks for images, Lu et al. also their new input and output layers. A \
             translation model on other pairs is a smaller step.",
            "Seeds change batches and dropout only; the model and the data are always the same.",
        ]
        .map(str::to_owned)
        .into(),
        data: results.data(),
    }
}

fn about(bench: &Bench, model: &Model, corpus: &Corpus) -> About {
    let first = format!("Model: {}; on {}", model.label(), bench.device);
    About {
        model: model.label().to_owned(),
        lines: std::iter::once(first).chain(corpus.notes.iter().cloned()).collect(),
    }
}
