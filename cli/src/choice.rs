//! The choice of a model by languages: `--from` and `--to`.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use wordloom::model::generation_config::GenerationConfig;
use wordloom::model::read_languages;
use wordloom::text::{TextError, Tokenizer};
use wordloom::transformer::Cancel;
use wordloom::{Model, TranslateOptions, Translator};
use wordloom_hub::{
    BuiltIn, Certainty, Choosable, Detected, Hub, Language, Offer, Place, Route, about, choose, code_for,
    command, detect, offered_sources, suggest,
};

use super::digest::Digest;
use super::setup::{ModelArguments, SearchArguments};
use super::{CliError, notice};

/// The models of a translation: one, or two through a third language.
pub struct Choice {
    /// The model that writes the target language.
    pub last: Chosen,
    /// The model that writes the language between.
    pub first: Option<Chosen>,
    /// The language that was chosen or detected, and the target, for a record of the run.
    pub languages: [Option<Language>; 2],
}

/// A model with its tokenizer, and the languages in the model's own codes.
pub struct Chosen {
    pub model: Model,
    pub tokenizer: Tokenizer,
    pub place: Place,
    pub source: Option<String>,
    pub target: Option<String>,
}

/// What a command wants of the choice.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Steps {
    /// One model, because the command looks into it.
    One,
    /// One or two.
    OneOrTwo,
}

/// Chooses and opens. `sample` gives some text for `--from auto`.
pub fn open(
    model: &ModelArguments,
    search: &SearchArguments,
    steps: Steps,
    sample: &mut dyn FnMut() -> Result<String, CliError>,
) -> Result<Choice, CliError> {
    let asked = Asked::new(search)?;
    if asked.from.is_none() && asked.to.is_none() {
        let opened = model.open()?;
        let tokenizer = Translator::tokenizer_of(&opened)?;
        let (source, target) = (search.source_lang.clone(), search.target_lang.clone());
        let last = Chosen { model: opened, tokenizer, place: model.place()?, source, target };
        return Ok(Choice { last, first: None, languages: [None, None] });
    }
    match model.model {
        Some(_) => with_model(model, &asked, sample),
        None => without_model(&asked, steps, sample),
    }
}

/// The languages of the command line.
struct Asked {
    from: Option<From>,
    to: Option<Language>,
}

enum From {
    Auto,
    Given(Language),
}

impl Asked {
    fn new(search: &SearchArguments) -> Result<Self, CliError> {
        let language = |option: &str, code: &str| {
            code.parse::<Language>().map_err(|error| CliError::Usage(format!("{option} {error}")))
        };
        let from = match search.from.as_deref() {
            None => None,
            Some("auto") => Some(From::Auto),
            Some(code) => Some(From::Given(language("--from", code)?)),
        };
        let to = search.to.as_deref().map(|code| language("--to", code)).transpose()?;
        Ok(Self { from, to })
    }
}

/// Opens the model of `--model`, and says its languages in its own codes.
fn with_model(
    arguments: &ModelArguments,
    asked: &Asked,
    sample: &mut dyn FnMut() -> Result<String, CliError>,
) -> Result<Choice, CliError> {
    let model = arguments.open()?;
    let tokenizer = Translator::tokenizer_of(&model)?;
    let place = arguments.place()?;
    let mut named = read_languages(&place.files()?)?;
    let codes: Vec<String> = tokenizer.languages().into_iter().map(str::to_owned).collect();
    if named.to.is_empty() {
        named.to.clone_from(&codes);
    }
    let label = model.label().to_owned();
    let from = match &asked.from {
        None => None,
        Some(From::Given(language)) => Some(language.clone()),
        Some(From::Auto) => {
            let readable: Vec<Language> =
                named.from.iter().filter_map(|code| Language::of_model(code)).collect();
            let text = sample()?;
            let among = if readable.is_empty() { offered_sources() } else { readable };
            Some(told(&text, detect(&text, &among))?)
        }
    };
    for (side, list, wanted) in [("reads", &named.from, &from), ("writes", &named.to, &asked.to)] {
        let Some(wanted) = wanted else { continue };
        if !list.is_empty() && code_for(list, wanted).is_none() {
            let some = list.iter().take(8).map(String::as_str).collect::<Vec<_>>().join(", ");
            let more = if list.len() > 8 { format!(" and {} more", list.len() - 8) } else { String::new() };
            return Err(CliError::Usage(format!(
                "{label} {side} {some}{more}, not {}; without --model, a model is chosen",
                wanted.name()
            )));
        }
    }
    let languages = [from, asked.to.clone()];
    let last = Chosen::new(model, tokenizer, place, &languages);
    Ok(Choice { last, first: None, languages })
}

/// The source and the target in a model's own codes.
pub fn codes(tokenizer: &Tokenizer, [from, to]: &[Option<Language>; 2]) -> (Option<String>, Option<String>) {
    let codes = tokenizer.languages();
    let code = |language: &Option<Language>| code_for(&codes, language.as_ref()?).map(str::to_owned);
    let (mut source, target) = (code(from), code(to));
    // Marian's codes are those of its target
    if let Err(TextError::NoLanguages { .. }) = tokenizer.direction(source.as_deref(), target.as_deref()) {
        source = None;
    }
    (source, target)
}

impl Chosen {
    fn new(model: Model, tokenizer: Tokenizer, place: Place, languages: &[Option<Language>; 2]) -> Self {
        let (source, target) = codes(&tokenizer, languages);
        Self { model, tokenizer, place, source, target }
    }

    /// What it is, for a run that is resumed.
    pub fn setting(&self) -> Result<String, CliError> {
        let Place::Folder(folder) = &self.place else {
            return Ok(format!("{} of wordloom {}", self.place, env!("CARGO_PKG_VERSION")));
        };
        let digest = Digest::of_model(folder)
            .map_err(|source| CliError::Io { what: format!("cannot read {}", folder.display()), source })?;
        Ok(format!("a folder with digest {}", digest.summary().hash))
    }

    /// The options of its translation.
    pub fn options(&self, search: &SearchArguments, cancel: Cancel) -> TranslateOptions {
        TranslateOptions {
            generation: GenerationConfig { num_beams: search.beams, ..GenerationConfig::default() },
            source_language: self.source.clone(),
            target_language: self.target.clone(),
            task: search.task.clone(),
            cancel,
            ..TranslateOptions::default()
        }
    }

    fn open(model: &Choosable, languages: [&Language; 2]) -> Result<Self, CliError> {
        let place = model.place.clone();
        let model = Model::from_files(place.files()?)?;
        let tokenizer = Translator::tokenizer_of(&model)?;
        Ok(Self::new(model, tokenizer, place, &languages.map(|language| Some(language.clone()))))
    }
}

/// The models to choose from: those of the program, and those of the cache.
fn installed() -> Result<Vec<Choosable>, CliError> {
    let cached = Hub::from_environment()?.cached_models()?;
    Ok(BuiltIn::all().iter().map(Choosable::from).chain(cached.iter().map(Choosable::from)).collect())
}

/// Chooses among the installed models.
fn without_model(
    asked: &Asked,
    steps: Steps,
    sample: &mut dyn FnMut() -> Result<String, CliError>,
) -> Result<Choice, CliError> {
    let Some(to) = &asked.to else {
        return Err(CliError::Usage("--from chooses a model only together with --to".into()));
    };
    let installed = installed()?;
    let from = match &asked.from {
        Some(From::Given(language)) => language.clone(),
        Some(From::Auto) | None => {
            let text = sample()?;
            let candidates = Candidates::new(wordloom_hub::sources(&installed), Some(to));
            told(&text, candidates.detect(&text))?
        }
    };
    if from.fits(to) {
        let name = from.name();
        return Err(CliError::Usage(match asked.from {
            Some(From::Given(_)) => format!("--from and --to are both {name}: there is nothing to translate"),
            _ => format!("the text is in {name} already, the language of --to; if not, say --from"),
        }));
    }
    let route = choose(&installed, &from, to);
    let languages = [Some(from.clone()), Some(to.clone())];
    match route {
        None => Err(no_model(&installed, &from, to)),
        Some(Route::Direct(step)) => {
            notice(&format!("model: {} ({from} → {to})", installed[step.model].name));
            let last = Chosen::open(&installed[step.model], [&from, to])?;
            Ok(Choice { last, first: None, languages })
        }
        Some(Route::Pivot { first, through, second }) => {
            let names = [&first, &second].map(|step| &*installed[step.model].name);
            if steps == Steps::One {
                return Err(CliError::Input(format!(
                    "no model translates {} to {} directly, and this command looks into one model; take {} or {} with \
                     --model",
                    from.name(),
                    to.name(),
                    names[0],
                    names[1]
                )));
            }
            notice(&format!(
                "no direct model: {from} → {through} → {to} through {} and {}",
                names[0], names[1]
            ));
            let first = Chosen::open(&installed[first.model], [&from, &through])?;
            let last = Chosen::open(&installed[second.model], [&through, to])?;
            Ok(Choice { last, first: Some(first), languages })
        }
    }
}

/// The error that names the command that gets a model.
fn no_model(installed: &[Choosable], from: &Language, to: &Language) -> CliError {
    let pair = format!("no model here translates {} to {}", from.name(), to.name());
    let there = |from: &Language, to: &Language| choose(installed, from, to).is_some();
    let Some(offers) = suggest(from, to, &there) else {
        return CliError::Input(format!(
            "{pair}, and none is known; give a model's folder or name with --model"
        ));
    };
    let bytes = offers.iter().map(|offer| offer.bytes).sum();
    let licences: Vec<&str> = offers.iter().map(|offer: &&Offer| &*offer.licence).collect();
    let (one, through) = match &offers[..] {
        [_] => ("one", String::new()),
        _ => ("two", " through English".to_owned()),
    };
    let mut licence = licences.join(", ");
    if licences.windows(2).all(|two| two[0] == two[1]) {
        licence = licences.first().copied().unwrap_or_default().to_owned();
    }
    CliError::Input(format!(
        "{pair}; `{}` gets {one}{through} ({}, {licence})",
        command(&offers),
        about(bytes)
    ))
}

/// The languages that a text may be in.
pub struct Candidates {
    /// Those for which a model could be had.
    all: Vec<Language>,
    /// Those that models here read.
    readable: Vec<Language>,
    /// The one into which the text is translated.
    target: Option<Language>,
}

impl Candidates {
    pub fn new(readable: Vec<Language>, target: Option<&Language>) -> Self {
        let mut all = offered_sources();
        all.extend(readable.iter().cloned());
        Self { all, readable, target: target.cloned() }
    }

    /// Whether a language is one that is read here, or the target.
    pub fn has(&self, language: &Language) -> bool {
        self.readable.iter().chain(&self.target).any(|known| known.fits(language))
    }

    /// The language of a text.
    ///
    /// Few words look like words of many languages. If they seem to be in one that no model here reads, and that is not certain, they
    /// are in one that is read, and that is not the target. A single word is always in one that is read.
    pub fn detect(&self, text: &str) -> Option<Detected> {
        let first = detect(text, &self.all)?;
        let among: Vec<Language> = match first.certainty {
            Certainty::Certain => return Some(first),
            Certainty::Likely if self.has(&first.language) => return Some(first),
            Certainty::Likely => {
                let is_target =
                    |language: &Language| self.target.as_ref().is_some_and(|target| target.fits(language));
                self.readable.iter().filter(|language| !is_target(language)).cloned().collect()
            }
            Certainty::Guess => self.readable.clone(),
        };
        let Some(found) = detect(text, &among) else { return Some(first) };
        let other = found.other.or(Some(first.language)).filter(|other| *other != found.language);
        Some(Detected { language: found.language, certainty: first.certainty, other })
    }
}

/// The language that was detected. It is told on stderr; a mere guess is an error.
fn told(text: &str, found: Option<Detected>) -> Result<Language, CliError> {
    let Some(Detected { language, certainty, other }) = found else {
        let problem =
            if text.trim().is_empty() { "there is no text that tells" } else { "the text does not tell" };
        return Err(CliError::Usage(format!("{problem} its language; say it with --from")));
    };
    let perhaps = other.as_ref().map(|other| format!(" or {}", other.name())).unwrap_or_default();
    match certainty {
        Certainty::Certain => notice(&format!("detected: {}", language.name())),
        Certainty::Likely => {
            let name = language.name();
            notice(&format!("detected: probably {name}{perhaps}; --from {language} says so"));
        }
        Certainty::Guess => {
            let codes: Vec<String> =
                std::iter::once(&language).chain(&other).map(|code| format!("--from {code}")).collect();
            return Err(CliError::Usage(format!(
                "the text is too short to tell its language, {}{perhaps}; say {}",
                language.name(),
                codes.join(" or ")
            )));
        }
    }
    Ok(language)
}

/// Bytes at the beginning of a file that are enough to detect its language.
const SAMPLE_BYTES: u64 = 1 << 16;

/// Text of a file, to detect its language. A pipe could not be read again.
pub fn sample(path: Option<&Path>) -> Result<String, CliError> {
    let unread = || CliError::Usage("a pipe's language cannot be detected here; say it with --from".into());
    beginning(path.ok_or_else(unread)?)?.ok_or_else(unread)
}

/// The beginning of a file, as far as it is text. `None` for a pipe or a device.
pub fn beginning(path: &Path) -> Result<Option<String>, CliError> {
    let read = || {
        if !fs::metadata(path)?.is_file() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        File::open(path)?.take(SAMPLE_BYTES).read_to_end(&mut bytes)?;
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    };
    read().map_err(|source| CliError::Io { what: format!("cannot read {}", path.display()), source })
}
