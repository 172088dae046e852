//! `wordloom models`, and models by name for every command.

use std::path::{Path, PathBuf};

use indicatif::DecimalBytes;
use serde_json::json;
use wordloom::model::files::ModelFiles;
use wordloom_hub::{BuiltIn, CachedModel, Choosable, Hub, HubError, Languages, ModelReference, Place};

use super::error::one_line;
use super::output::Output;
use super::progress::Download;
use super::{CliError, interrupt, notice};

#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
NAME: OWNER/NAME of the Hugging Face hub, OWNER/NAME@REVISION, or firefox:en-fr.
Models of the hub lie in its own cache, which other programs share: HF_HOME
moves it. HF_TOKEN, HF_ENDPOINT and HF_HUB_OFFLINE=1 are heeded. Firefox's lie
in WORDLOOM_MODELS [default: wordloom/models in your cache folder].

Examples:
  wordloom models get Helsinki-NLP/opus-mt-en-fr firefox:en-de
  wordloom models remove Helsinki-NLP/opus-mt-en-fr"
)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// Write JSON, with folders, languages and revisions
    #[arg(long)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum Action {
    /// List the models that are here (as without a command)
    List {
        /// Write JSON, with folders, languages and revisions
        #[arg(long)]
        json: bool,
    },
    /// Fetch models, or newer versions of them; print their folders
    Get {
        /// OWNER/NAME, OWNER/NAME@REVISION or firefox:en-fr
        #[arg(value_name = "NAME", required = true)]
        names: Vec<String>,
    },
    /// Remove models; files that another revision uses stay
    Remove {
        /// As `wordloom models` lists them
        #[arg(value_name = "NAME", required = true)]
        names: Vec<String>,
    },
    /// Compare files with their published hashes [default: of all]
    Verify {
        /// As `wordloom models` lists them
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
}

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let hub = Hub::from_environment()?;
    let mut output = Output::open(None)?;
    match &arguments.action {
        None if arguments.json => list_as_json(&hub, &mut output)?,
        Some(Action::List { json: true }) => list_as_json(&hub, &mut output)?,
        None | Some(Action::List { .. }) => list(&hub, &mut output)?,
        Some(Action::Get { names }) => {
            for name in names {
                let folder = fetched(&hub, &named(&hub, name)?, false)?;
                output.line(&folder.display().to_string())?;
                output.flush()?;
            }
        }
        Some(Action::Remove { names }) => {
            for name in names {
                let freed = hub.remove(&named(&hub, name)?)?;
                output.line(&format!("{name}: removed, {} freed", DecimalBytes(freed)))?;
            }
        }
        Some(Action::Verify { names }) => verify(&hub, names, &mut output)?,
    }
    output.flush()
}

/// The folder of `--model`: a folder as it is, or that of a name, which is fetched first if it is not in the cache.
pub fn folder(model: &Path) -> Result<PathBuf, CliError> {
    let Some(text) = model.to_str().filter(|_| !model.exists()) else { return Ok(model.to_owned()) };
    let reference = ModelReference::parse_name(text)?;
    if let ModelReference::Folder(_) = reference {
        let hub = Hub::from_environment().ok();
        return match hub.and_then(|hub| Some((hub.without_owner(text)?, hub))) {
            Some((reference, hub)) => fetched(&hub, &reference, true),
            None => missing(model),
        };
    }
    let hub = Hub::from_environment()?;
    if let Some(folder) = hub.find(&reference)? {
        return Ok(folder);
    }
    // a folder of the owner's name here: a path was meant, and nobody is asked for it
    match ModelReference::parse(text)? {
        ModelReference::Folder(_) => missing(model),
        reference => fetched(&hub, &reference, true),
    }
}

/// The error of a folder that does not exist, with the way to a name.
fn missing(model: &Path) -> Result<PathBuf, CliError> {
    match ModelFiles::directory(model) {
        Ok(_) => Ok(model.to_owned()),
        Err(error) => Err(CliError::NoFolder(
            error,
            "a model of the hub is OWNER/NAME or OWNER/NAME@main, as Helsinki-NLP/opus-mt-en-fr; \
             `wordloom models` lists those that are here",
        )),
    }
}

/// Fetches a model. Ctrl-C keeps what has arrived.
fn fetched(hub: &Hub, reference: &ModelReference, from_cache: bool) -> Result<PathBuf, CliError> {
    let cancel = interrupt::handler();
    let mut progress = Download::new("fetching", Some("fetching"));
    let result = interrupt::working(|| {
        Ok(match from_cache {
            true => hub.get(reference, &mut progress, &cancel)?,
            false => hub.fetch(reference, &mut progress, &cancel)?,
        })
    });
    match result {
        Err(CliError::Interrupted) => Err(HubError::Cancelled.into()),
        result => result,
    }
}

/// A name that is no folder.
fn named(hub: &Hub, name: &str) -> Result<ModelReference, CliError> {
    if let Some(reference) = hub.without_owner(name) {
        return Ok(reference);
    }
    match ModelReference::parse_name(name)? {
        ModelReference::Folder(_) if Place::built_in(name).is_some() => {
            Err(CliError::Usage(format!("{name} is part of the program")))
        }
        ModelReference::Folder(_) => Err(CliError::Usage(format!(
            "{name:?} is no model's name; write OWNER/NAME, OWNER/NAME@REVISION or firefox:en-fr"
        ))),
        reference => Ok(reference),
    }
}

fn verify(hub: &Hub, names: &[String], output: &mut Output) -> Result<(), CliError> {
    let all = || Ok::<_, CliError>(hub.cached_models()?.into_iter().map(|model| model.name).collect());
    let names = if names.is_empty() { all()? } else { names.to_vec() };
    if names.is_empty() {
        notice("there are no fetched models to verify");
    }
    let cancel = interrupt::handler();
    let mut failed = None;
    for name in &names {
        let reference = named(hub, name)?;
        let mut progress = Download::new("checking", None);
        match interrupt::working(|| Ok(hub.verify(&reference, &mut progress, &cancel)?)) {
            Ok(bytes) => output.line(&format!("{name}: {} are as published", DecimalBytes(bytes)))?,
            Err(CliError::Interrupted) => return Err(CliError::Interrupted),
            // the last one is the command's own error
            Err(error) => {
                if let Some(earlier) = failed.replace(error) {
                    notice(&format!("warning: {earlier}"));
                }
            }
        }
        output.flush()?;
    }
    failed.map_or(Ok(()), Err)
}

fn list_as_json(hub: &Hub, output: &mut Output) -> Result<(), CliError> {
    let models = hub.cached_models()?;
    let built_in = BuiltIn::all().iter().map(built_in_as_json);
    output.json(&built_in.chain(models.iter().map(as_json)).collect::<Vec<_>>())
}

fn list(hub: &Hub, output: &mut Output) -> Result<(), CliError> {
    let models = hub.cached_models()?;
    let mut rows = vec![["MODEL", "FAMILY", "LANGUAGES", "SIZE", "LICENCE"].map(str::to_owned)];
    rows.extend(BuiltIn::all().iter().map(built_in_row));
    rows.extend(models.iter().map(row));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3].map(width);
    if rows.len() > 1 {
        for [name, family, languages, size, licence] in &rows {
            let [a, b, c, d] = widths;
            let line = format!("{name:<a$}  {family:<b$}  {languages:<c$}  {size:>d$}  {licence}");
            output.line(line.trim_end())?;
        }
    }
    for unfinished in hub.unfinished()? {
        let (name, bytes) = (&unfinished.name, DecimalBytes(unfinished.bytes));
        notice(&format!("{name}: {bytes} of a download are here; `wordloom models get {name}` goes on"));
    }
    if models.is_empty() {
        notice(&format!(
            "no fetched models are in {}; `wordloom models get Helsinki-NLP/opus-mt-en-fr` fetches one",
            hub.settings().cache.display()
        ));
    }
    Ok(())
}

fn built_in_row(model: &BuiltIn) -> [String; 5] {
    let Choosable { name, languages: pair, bytes, .. } = model.into();
    let size = DecimalBytes(bytes).to_string();
    [name, model.family().to_owned(), languages(&pair), size, model.licence.to_owned()]
}

fn row(model: &CachedModel) -> [String; 5] {
    [
        model.name.clone(),
        model.family.clone(),
        languages(&model.languages),
        DecimalBytes(model.bytes).to_string(),
        model.licence.clone().unwrap_or_default(),
    ]
    .map(|text| one_line(&text)) // publishers' texts, which a terminal must not obey
}

/// `en → fr`, `en → 52 languages`, `100 languages`.
fn languages(Languages { from, to }: &Languages) -> String {
    const LISTED: usize = 4;
    let side = |codes: &[String]| match codes.len() {
        0..=LISTED => codes.join(", "),
        count => format!("{count} languages"),
    };
    match (from.len(), to.len()) {
        (0, 0) => String::new(),
        _ if from == to => side(from),
        _ => format!("{} → {}", side(from), side(to)),
    }
}

fn built_in_as_json(model: &BuiltIn) -> serde_json::Value {
    let [from, to] = model.pair.map(|code| [code]);
    json!({
        "name": model.name(),
        "family": model.family(),
        "from": from,
        "to": to,
        "bytes": model.bytes(),
        "licence": model.licence,
        "revision": env!("CARGO_PKG_VERSION"),
        "folder": null,
    })
}

fn as_json(model: &CachedModel) -> serde_json::Value {
    let CachedModel { name, family, languages: Languages { from, to }, bytes, folder, licence, revision } =
        model;
    json!({
        "name": name,
        "family": family,
        "from": from,
        "to": to,
        "bytes": bytes,
        "licence": licence,
        "revision": revision,
        "folder": folder,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_said_in_short() {
        let codes = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        let said = |from: &str, to: &str| languages(&Languages { from: codes(from), to: codes(to) });
        assert_eq!(said("en", "fr"), "en → fr");
        assert_eq!(said("en", "de fr ro"), "en → de, fr, ro");
        assert_eq!(said("a b c d e", "a b c d e"), "5 languages");
        assert_eq!(said("a b c d e", "en"), "5 languages → en");
        assert_eq!(said("", ""), "");
    }
}
