//! Studies of a model of the user: claims about attention, tried on its weights and on sentences; and [`layer_norm`], which trains
//! parts of it further.

mod attention;
mod collapse;
mod content;
mod explanation;
mod findings;
mod gold;
pub mod layer_norm;
mod log;
mod numeric;
mod order;
mod pages;
mod projections;
mod pruning;
mod roles;
mod scale;
mod spectrum;
mod subject;
mod symmetry;
mod tuning;
mod words;

use std::path::{Path, PathBuf};

use wordloom::model::config::Architecture;
use wordloom::model::{ModelLanguages, read_languages};
use wordloom::readable::counted;
use wordloom::train::session::Corpus;
use wordloom::translate::resolve_languages;
use wordloom::{Model, TranslateOptions, Translator};
use wordloom_hub::Language;

use super::figures::Painter;
use super::runs::Settings;
use crate::setup::{DeviceArguments, ModelArguments, count, model_files};
use crate::{CliError, interrupt, notice};
use findings::Findings;
use log::Log;
use pages::About;
use subject::{FEWEST, Subject, read_pairs};

/// A study.
pub struct Study {
    pub name: &'static str,
    title: &'static str,
    /// Whether it takes a model that translates. Else any model with attention.
    translates: bool,
    run: fn(&mut Subject) -> Result<Findings, CliError>,
}

const fn study(
    name: &'static str,
    title: &'static str,
    translates: bool,
    run: fn(&mut Subject) -> Result<Findings, CliError>,
) -> Study {
    Study { name, title, translates, run }
}

/// All studies, in the order of `study all`.
const STUDIES: &[Study] = &[
    study("scale", "Why divide by √d_k?", false, scale::run),
    study("symmetry", "Are scores symmetric?", false, symmetry::run),
    study("projections", "How many components have the projections?", false, projections::run),
    study("spectrum", "How many components has attention?", false, spectrum::run),
    study("order", "What are positions for?", true, order::run),
    study("roles", "Do heads have roles?", true, roles::run),
    study("pruning", "How many heads are needed?", true, pruning::run),
    study("explanation", "Does attention explain a translation?", true, explanation::run),
    study("content", "What do heads keep of their input?", false, content::run),
    study("collapse", "Do tokens become equal?", false, collapse::run),
];

#[derive(clap::Args)]
#[command(after_help = "\
FILE.html gets the page. Beside it stand FILE.md with FILE-1.svg and so on, the
numbers as FILE.csv and FILE.json, and FILE.jsonl, from which the same command
goes on after Ctrl-C or a kill.")]
pub struct Arguments {
    #[command(flatten)]
    material: Material,
    /// The page: a .html file [default: NAME.html]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(clap::Args)]
#[command(after_help = "\
DIR gets a page for each study, index.md with all claims, and the log
measurements.jsonl, from which the same command goes on after Ctrl-C or a kill.")]
pub struct AllArguments {
    #[command(flatten)]
    material: Material,
    /// Folder of the pages
    #[arg(short, long, value_name = "DIR", default_value = "studies")]
    output: PathBuf,
}

#[derive(clap::Args)]
struct Material {
    #[command(flatten)]
    model: ModelArguments,
    /// Lines SOURCE TAB TARGET; or gzip
    #[arg(long, value_name = "FILE")]
    pairs: PathBuf,
    /// Sentences of most measurements
    #[arg(long, value_name = "N", value_parser = count, default_value = "100")]
    sentences: usize,
    /// Language of the sources, in the model's codes
    #[arg(long, value_name = "CODE")]
    source_lang: Option<String>,
    /// Language of the targets, in the model's codes
    #[arg(long, value_name = "CODE")]
    target_lang: Option<String>,
    /// Folder for the figures as SVG and PNG, with captions
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,
    #[command(flatten)]
    device: DeviceArguments,
}

/// Runs one study.
pub fn run(name: &str, arguments: &Arguments) -> Result<(), CliError> {
    let output = arguments.output.clone().unwrap_or_else(|| format!("{name}.html").into());
    let stem = output.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    if output.extension().is_none_or(|kind| kind != "html") || stem.is_empty() {
        let problem = "it must end in .html; the other files get the same name";
        return Err(CliError::Usage(format!("--output is {}; {problem}", output.display())));
    }
    let folder = output.parent().map_or_else(PathBuf::new, Path::to_path_buf);
    let studies = STUDIES.iter().filter(|study| study.name == name).collect::<Vec<_>>();
    let place = Place { folder, stem: Some(stem.to_owned()), log: format!("{stem}.jsonl") };
    arguments.material.run(&studies, &place)
}

/// Runs all studies that the model allows.
pub fn run_all(arguments: &AllArguments) -> Result<(), CliError> {
    let place = Place { folder: arguments.output.clone(), stem: None, log: "measurements.jsonl".to_owned() };
    arguments.material.run(&STUDIES.iter().collect::<Vec<_>>(), &place)
}

/// Where the files of a command go.
struct Place {
    folder: PathBuf,
    /// Names of the files of a single study; else each has its own.
    stem: Option<String>,
    log: String,
}

impl Material {
    fn run(&self, studies: &[&Study], place: &Place) -> Result<(), CliError> {
        let options = TranslateOptions {
            source_language: self.source_lang.clone(),
            target_language: self.target_lang.clone(),
            cancel: interrupt::handler(),
            ..TranslateOptions::default()
        };
        if self.sentences < FEWEST {
            let problem = format!("--sentences is {}; a study needs at least {FEWEST}", self.sentences);
            return Err(CliError::Usage(problem));
        }
        let pairs = read_pairs(&self.pairs)?;
        if pairs.len() < FEWEST {
            let (file, found) = (self.pairs.display(), counted(pairs.len(), "pair"));
            let problem = format!("{file}: {found}; a study needs at least {FEWEST} to say anything");
            return Err(CliError::Input(problem));
        }
        let painter = self
            .figures
            .as_ref()
            .map(|folder| Ok::<_, CliError>((&**folder, Painter::new()?)))
            .transpose()?;
        let model = self.model.open()?;
        let languages = read_languages(&model_files(self.model.model.as_deref())?)?;
        let possible = possible(&model, studies)?;
        let possible = with_gold_sets(model.label(), &languages, possible)?;
        let tokenizer = model.tokenizer()?;
        resolve_languages(&tokenizer, &options, model.generation_config())
            .map_err(|error| CliError::Usage(error.to_string()))?;
        let settings = self.settings(&pairs)?;
        std::fs::create_dir_all(if place.folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            &place.folder
        })
        .map_err(|error| crate::output::cannot_write(&place.folder, error))?;
        let log = Log::open(&place.folder.join(&place.log), &settings)?;
        let transformer = self.device.transformer(&model)?;
        let about = About {
            model: model.label().to_owned(),
            lines: vec![
                format!("Model: {}; on {}", model.label(), transformer.device()),
                format!(
                    "Pairs: {}, {} pairs, of which {} at equal distances are read by most measurements",
                    self.pairs.display(),
                    pairs.len(),
                    self.sentences.min(pairs.len())
                ),
            ],
        };
        let translator = Translator::from_parts(transformer, tokenizer);
        let file = self.pairs.display().to_string();
        let mut subject = Subject::new((model, translator), options, (file, pairs), self.sentences, log);
        let result =
            interrupt::working(|| run_studies(&mut subject, &possible, place, painter.as_ref(), &about));
        subject.end();
        result
    }

    fn settings(&self, pairs: &[wordloom::train::pairs::SentencePair]) -> Result<Settings, CliError> {
        let language = |code: &Option<String>| code.clone().unwrap_or_else(|| "not given".to_owned());
        let settings = [
            ("the model", self.model.identity()?),
            ("the pairs", Corpus::digest(pairs)),
            ("--sentences", self.sentences.to_string()),
            ("--source-lang", language(&self.source_lang)),
            ("--target-lang", language(&self.target_lang)),
        ];
        Ok(settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

/// The studies that a model allows; an error if there are none among those asked for.
fn possible<'a>(model: &Model, studies: &[&'a Study]) -> Result<Vec<&'a Study>, CliError> {
    let translates = model.config().architecture() == Architecture::EncoderDecoder;
    let (can, cannot): (Vec<&Study>, Vec<&Study>) =
        studies.iter().copied().partition(|study| translates || !study.translates);
    if let [first, ..] = cannot[..] {
        let names: Vec<&str> =
            STUDIES.iter().filter(|study| !study.translates).map(|study| study.name).collect();
        let problem = format!(
            "{}: a \"{}\" model does not translate, which the study {} needs; it can do {}",
            model.label(),
            model.config().family.model_type(),
            first.name,
            names.join(", ")
        );
        if can.is_empty() {
            return Err(CliError::Input(problem));
        }
        notice(&problem);
    }
    Ok(can)
}

/// The studies whose gold sets are in the model's languages, or need none. A model that names no languages may have any.
fn with_gold_sets<'a>(
    label: &str,
    languages: &ModelLanguages,
    studies: Vec<&'a Study>,
) -> Result<Vec<&'a Study>, CliError> {
    let has = |codes: &[String], wanted: &str| {
        let known: Vec<Language> = codes.iter().filter_map(|code| Language::of_model(code)).collect();
        known.is_empty() || known.iter().any(|language| language.base() == wanted)
    };
    let (can, cannot): (Vec<&Study>, Vec<&Study>) = studies.into_iter().partition(|study| match study.name {
        "roles" => has(&languages.from, "en"),
        "explanation" => has(&languages.from, "en") && has(&languages.to, "de"),
        _ => true,
    });
    if let [first, ..] = cannot[..] {
        let to = if first.name == "roles" { "" } else { " to German" };
        let problem =
            format!("{label}: the gold set of the study {} is for models from English{to}", first.name);
        if can.is_empty() {
            return Err(CliError::Input(problem));
        }
        notice(&problem);
    }
    Ok(can)
}

fn run_studies(
    subject: &mut Subject,
    studies: &[&Study],
    place: &Place,
    painter: Option<&(&Path, Painter)>,
    about: &About,
) -> Result<(), CliError> {
    let command = pages::command();
    let (mut all, mut failed) = (Vec::new(), Vec::new());
    for study in studies {
        let findings = match (study.run)(subject) {
            // the others may be possible
            Err(CliError::Input(problem)) if studies.len() > 1 => {
                subject.end();
                notice(&format!("{}: not possible: {problem}", study.name));
                failed.push((study.name, problem));
                continue;
            }
            result => result?,
        };
        subject.end();
        let stem = place.stem.as_deref().unwrap_or(study.name);
        pages::write((&place.folder, stem), study.title, &findings, about, &command)?;
        if let Some((folder, painter)) = painter {
            painter.write(folder, stem, &findings.figures)?;
        }
        for claim in &findings.claims {
            notice(&format!("{}: {}: {}", study.name, pages::verdict(claim.verdict), claim.claim));
        }
        notice(&format!("{}: the page", place.folder.join(format!("{stem}.html")).display()));
        all.push((study.name, findings));
    }
    if place.stem.is_none() {
        if let ([], Some((_, problem))) = (&all[..], failed.first()) {
            return Err(CliError::Input(problem.clone()));
        }
        pages::write_index(&place.folder, (&all, &failed), about)?;
    }
    Ok(())
}
