//! The models of a translation, with their options.

use wordloom::model::generation_config::GenerationConfig;
use wordloom::transformer::Cancel;
use wordloom::translate::resolve_languages;
use wordloom::{Device, Model, TextError, TranslateOptions, Translator};
use wordloom_hub::Language;

use super::super::CliError;
use super::super::choice::{Choice, Chosen};
use super::super::setup::{load, search_options};
use super::Arguments;

/// Bytes for repeated sentences, some ten thousands.
const CACHE_BYTES: usize = 64 << 20;

/// A model with the options of its translation, which were checked.
struct Planned {
    chosen: Chosen,
    options: TranslateOptions,
    /// Those of the search, with the task's.
    generation: GenerationConfig,
}

impl Planned {
    fn new(arguments: &Arguments, chosen: Chosen, options: TranslateOptions) -> Result<Self, CliError> {
        let defaults = chosen.model.generation_config();
        let (_, generation) =
            resolve_languages(&chosen.tokenizer, &options, defaults).map_err(refused_language)?;
        check_options(arguments, &chosen.model, &generation)?;
        Ok(Self { chosen, options, generation })
    }

    fn load(
        self,
        arguments: &Arguments,
        device: &Device,
    ) -> Result<(Translator, TranslateOptions), CliError> {
        let Self { chosen: Chosen { model, tokenizer, .. }, options, generation } = self;
        let mut transformer = load(device, &model, arguments.device.weights, Some(&generation))?;
        arguments.attention.apply(&mut transformer)?;
        arguments.switches.apply(&mut transformer, &model)?;
        let translator = Translator::from_parts(transformer, tokenizer).with_cache(CACHE_BYTES);
        Ok((translator, options))
    }
}

/// The models of a translation: one, or two through a third language.
pub struct Plan {
    /// Writes the language between.
    first: Option<Planned>,
    last: Planned,
    pub languages: [Option<Language>; 2],
}

impl Plan {
    pub fn new(arguments: &Arguments, choice: Choice, cancel: &Cancel) -> Result<Self, CliError> {
        let Choice { last, first, languages } = choice;
        let search = &arguments.search;
        let of_pair = [("--glossary", arguments.glossary.is_given()), ("--quality", arguments.quality)];
        if let Some((option, _)) = of_pair.into_iter().find(|&(_, given)| first.is_some() && given) {
            return Err(CliError::Usage(format!(
                "{option} needs a model of the pair itself; these languages go through a third one"
            )));
        }
        let first = first.map(|first| {
            let options = TranslateOptions { task: None, ..first.options(search, cancel.clone()) };
            Planned::new(arguments, first, options)
        });
        let mut options =
            TranslateOptions { generation: asked(arguments), ..last.options(search, cancel.clone()) };
        options.glossary = arguments.glossary.bind(&last, &options)?;
        options.alignments = arguments.quality;
        Ok(Self { first: first.transpose()?, last: Planned::new(arguments, last, options)?, languages })
    }

    pub fn models(&self) -> impl Iterator<Item = &Chosen> {
        self.first.iter().chain([&self.last]).map(|planned| &planned.chosen)
    }

    pub fn load(self, arguments: &Arguments, device: &Device) -> Result<Models, CliError> {
        let first = self.first.map(|first| first.load(arguments, device)).transpose()?;
        let (last, options) = self.last.load(arguments, device)?;
        Ok(Models { first, last, options })
    }
}

/// The models on their device.
pub struct Models {
    /// Writes the language between.
    pub first: Option<(Translator, TranslateOptions)>,
    pub last: Translator,
    pub options: TranslateOptions,
}

/// Options of the command line.
fn asked(arguments: &Arguments) -> GenerationConfig {
    GenerationConfig {
        num_beams: arguments.search.beams,
        num_return_sequences: Some(arguments.n_best.unwrap_or(1)),
        length_penalty: arguments.length_penalty,
        max_length: arguments.max_length,
        shortlist: arguments.no_shortlist.then_some(false),
        ..GenerationConfig::default()
    }
}

/// Checks the options of the command line and of a task, over the model's own.
fn check_options(arguments: &Arguments, model: &Model, options: &GenerationConfig) -> Result<(), CliError> {
    let flags = [
        ("num_beams", "--beams", arguments.search.beams.is_some()),
        ("num_return_sequences", "--n-best", arguments.n_best.is_some()),
        ("length_penalty", "--length-penalty", arguments.length_penalty.is_some()),
        ("max_length", "--max-length", arguments.max_length.is_some()),
    ];
    search_options(&flags, model, options).map(|_| ())
}

fn refused_language(error: TextError) -> CliError {
    CliError::Usage(error.to_string())
}
