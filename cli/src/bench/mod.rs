//! `wordloom bench`; docs/performance.md says how it measures.

mod attention;
mod folders;
mod host;
mod kernels;
mod layers;
mod limits;
mod models;
mod profile;
mod report;
mod soak;
mod subject;
mod timing;
mod training;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use wordloom::Model;
use wordloom::model::files::ModelFiles;
use wordloom::precision::{PrecisionChoice, WeightPrecision};

use super::CliError;
use super::output::Output;
use super::progress::Progress;
use super::setup::{self, DeviceArguments, ModelArguments, model_files};
use attention::Looking;
use profile::Profile;
use report::Report;
use soak::Soak;
use subject::Subject;
use training::Training;

#[derive(clap::Args)]
#[command(after_help = "\
N,… is one number or several: each is measured, beams with each batch. Every
translation has exactly --tokens tokens. docs/performance.md says what is what.")]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArguments,
    /// A config.json alone; weights are made up
    #[arg(long, value_name = "FILE", conflicts_with = "model")]
    config: Option<PathBuf>,
    #[command(flatten)]
    device: DeviceArguments,
    #[command(flatten)]
    workload: Workload,
    /// Kernel by kernel: each variant, and which is chosen
    #[arg(long)]
    kernels: bool,
    /// What looking at attention costs, and painting it
    #[arg(long, conflicts_with_all = ["kernels", "lines", "sentences"])]
    attention: bool,
    /// Training steps of N target tokens
    #[arg(long, value_name = "N", value_parser = positive, conflicts_with_all = ["kernels", "attention", "lines", "sentences"])]
    training: Option<usize>,
    /// Where a GPU's time goes, kernel by kernel
    #[arg(long, conflicts_with_all = ["kernels", "attention", "lines", "sentences"])]
    profile: bool,
    #[command(flatten)]
    layers: layers::Arguments,
    /// Many sentences of all lengths: speed and memory
    #[arg(long, value_name = "N", value_parser = positive, conflicts_with_all = ["kernels", "lines"])]
    sentences: Option<usize>,
    /// A JSON line per workload for each model folder in DIR
    #[arg(long, value_name = "DIR", conflicts_with_all = ["model", "config", "kernels", "json"])]
    lines: Option<PathBuf>,
    /// Write JSON, with what the tables leave out
    #[arg(long)]
    json: bool,
}

/// What is measured.
#[derive(clap::Args, Clone, Debug, serde::Serialize)]
pub struct Workload {
    /// Source lengths to encode
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = positive, default_value = "32,128")]
    encode: Vec<usize>,
    /// Tokens of each source that is translated
    #[arg(long, value_name = "N", value_parser = positive, default_value = "32")]
    source: usize,
    /// Tokens of each translation
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = positive, default_value = "32")]
    tokens: Vec<usize>,
    /// Beams; 1 is greedy
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = positive, default_value = "1,4")]
    beams: Vec<usize>,
    /// Sources that are translated together
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = positive, default_value = "1,16")]
    batch: Vec<usize>,
    /// Runs of each, after one to warm up
    #[arg(long, value_name = "N", value_parser = positive, default_value = "5")]
    repeats: usize,
}

fn positive(text: &str) -> Result<usize, &'static str> {
    text.parse().ok().filter(|&number| number > 0).ok_or("a whole number above 0 is needed")
}

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let mut output = Output::open(None)?;
    if arguments.layers.layers {
        let device = arguments.device.open()?;
        let repeats = arguments.workload.repeats;
        layers::run(&arguments.layers, &device, repeats, arguments.json, &mut output)?;
        return output.flush();
    }
    if let Some(folder) = &arguments.lines {
        return folders::run(folder, arguments, &mut output);
    }
    let files = || match &arguments.config {
        Some(file) => Ok(ModelFiles::configuration(file)),
        None => model_files(arguments.model.model.as_deref()),
    };
    let workload = &arguments.workload;
    if let Some(tokens) = arguments.training {
        if !matches!(
            arguments.device.weights,
            PrecisionChoice::Auto | PrecisionChoice::Is(WeightPrecision::F32)
        ) {
            return Err(CliError::Usage(
                "--training: weights are trained in f32; leave --weights out".into(),
            ));
        }
        let (device, model) = (arguments.device.open()?, model(arguments, files()?)?);
        let training = Training::measure(&device, model, tokens, workload.repeats, arguments.profile)?;
        show(&training, Training::text, arguments.json, &mut output)?;
        return output.flush();
    }
    let (subject, load) = loaded(arguments, files()?)?;
    if arguments.kernels {
        kernels::run(&subject, workload.repeats, arguments.json, &mut output)?;
    } else if arguments.attention {
        subject.check(workload)?;
        let looking = Looking::measure(&subject, workload)?;
        show(&looking, Looking::text, arguments.json, &mut output)?;
    } else if arguments.profile {
        subject.check(workload)?;
        let profile = Profile::measure(&subject, workload)?;
        show(&profile, Profile::text, arguments.json, &mut output)?;
    } else if let Some(sentences) = arguments.sentences {
        let soak = Soak::measure(&subject, workload, sentences)?;
        show(&soak, Soak::text, arguments.json, &mut output)?;
    } else {
        subject.check(workload)?;
        let report = Report::measure(&subject, workload, load)?;
        show(&report, Report::text, arguments.json, &mut output)?;
    }
    output.flush()
}

fn show<T: serde::Serialize>(
    report: &T,
    text: impl Fn(&T, &mut Output) -> Result<(), CliError>,
    json: bool,
    output: &mut Output,
) -> Result<(), CliError> {
    if json { output.json(report) } else { text(report, output) }
}

struct Load {
    open: Duration,
    /// Time from files to weights on the device.
    load: Duration,
}

fn model(arguments: &Arguments, files: ModelFiles) -> Result<Model, CliError> {
    Ok(match &arguments.config {
        Some(_) => Model::random(files, 0)?,
        None => Model::from_files(files)?,
    })
}

fn loaded(arguments: &Arguments, files: ModelFiles) -> Result<(Subject, Load), CliError> {
    let start = Instant::now();
    let device = arguments.device.open()?;
    let open = start.elapsed();
    let start = Instant::now();
    let model = model(arguments, files)?;
    let options = (!arguments.kernels).then(|| subject::first_search(&arguments.workload));
    let transformer = setup::load(&device, &model, arguments.device.weights, options.as_ref())?;
    let load = start.elapsed();
    Ok((Subject::new(&model, transformer), Load { open, load }))
}

struct Steps {
    bar: Progress,
    total: usize,
    done: usize,
}

impl Steps {
    fn new(total: usize) -> Self {
        Self { bar: Progress::of_fraction("measuring"), total, done: 0 }
    }

    fn step(&mut self) {
        self.done += 1;
        self.bar.set_fraction(self.done as f32 / self.total.max(1) as f32);
    }
}
