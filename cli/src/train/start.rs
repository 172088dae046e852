//! The model that a training begins with: a new one, another one, or a checkpoint.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use wordloom::Model;
use wordloom::json_problem::json_problem;
use wordloom::model::files::ModelFiles;
use wordloom::text::Normalization;
use wordloom::train::augment::Augmentation;
use wordloom::train::card::Card;
use wordloom::train::checkpoint::{MOMENTS, RECORD, Record, Settings};
use wordloom::train::folder::marian_folder;
use wordloom::train::new_model::NewModel;
use wordloom::train::new_vocabulary::{NewVocabulary, new_vocabulary};
use wordloom::train::pairs::SentencePair;
use wordloom::train::vocabulary::{TrainedVocabulary, VocabularyError, VocabularyOptions, learn};

use super::arguments::{Arguments, Chosen};
use super::defaults::{self, FINE_TUNING, Size};
use crate::digest::Digest;
use crate::setup::model_files;
use crate::{CliError, notice};

const CONFIG: &str = "config.json";
/// Limit on files beside the weights, bytes: vocabularies are the largest.
const FILE_LIMIT: u64 = 256 << 20;
/// Limit on a given configuration, bytes.
const CONFIG_LIMIT: u64 = 1 << 20;
/// Ends of the names of files that belong to a model beside its weights.
const COMPANIONS: [&str; 4] = [".json", ".spm", ".model", ".txt"];

/// A model to train, and what goes with it.
pub struct Start {
    pub model: Model,
    /// Configuration and tokenizer, which every checkpoint gets.
    pub companions: Vec<(String, Vec<u8>)>,
    /// The numbers that suit the model.
    pub size: Size,
    /// The checkpoint to go on from.
    pub resumed: Option<(ModelFiles, Record)>,
    /// Lines for the model card.
    pub notes: Vec<String>,
}

impl Start {
    /// Makes or opens the model. `checkpoint`: the folder to go on from.
    pub fn new(
        arguments: &Arguments,
        (train, augmentation): (&[SentencePair], &Augmentation),
        checkpoint: Option<&Path>,
    ) -> Result<Self, CliError> {
        let shape = Shape::new(arguments, train.len())?;
        match (checkpoint, &arguments.model) {
            (Some(folder), _) => {
                let files = ModelFiles::directory(folder)?;
                let record = Record::read(&files)?;
                notice(&format!("going on from {}, step {}", folder.display(), record.state.steps));
                let size = if arguments.model.is_some() { FINE_TUNING } else { shape.size() };
                let start = Self::open(files.clone(), size)?;
                Ok(Self { resumed: Some((files, record)), notes: notes(arguments), ..start })
            }
            (None, Some(model)) => {
                let files = given(model)?;
                let files = match arguments.vocabulary {
                    None => files,
                    Some(_) => {
                        let vocabulary = vocabulary(arguments, train, augmentation)?;
                        with_vocabulary(arguments, &files, &vocabulary)?
                    }
                };
                Ok(Self { notes: notes(arguments), ..Self::open(files, FINE_TUNING)? })
            }
            (None, None) => Self::make(arguments, &shape, (train, augmentation)),
        }
    }

    fn open(files: ModelFiles, size: Size) -> Result<Self, CliError> {
        let companions = companions(&files)?;
        let model = Model::from_files(files)?;
        Ok(Self { model, companions, size, resumed: None, notes: Vec::new() })
    }

    fn make(
        arguments: &Arguments,
        shape: &Shape,
        (train, augmentation): (&[SentencePair], &Augmentation),
    ) -> Result<Self, CliError> {
        let vocabulary = vocabulary(arguments, train, augmentation)?;
        let dropout = arguments.numbers.chosen(shape.size()).dropout;
        let new = shape.new_model(&vocabulary, dropout)?;
        let card = Card {
            source_language: arguments.from.clone().unwrap_or_default(),
            target_language: arguments.to.clone().unwrap_or_default(),
            ..Card::default()
        };
        let weights = new.initial_weights(arguments.numbers.seed)?;
        let files = marian_folder(&new, (&vocabulary).into(), (weights, "float32"), &card)?;
        let label = "the new model";
        notice(&format!(
            "{label}: d_model {}, {} + {} layers, {} tokens, {} parameters",
            new.d_model,
            new.encoder_layers,
            new.decoder_layers,
            vocabulary.size,
            new.parameters()
        ));
        let mut notes = vec![format!("Text is normalized by the rules {}.", vocabulary.normalization)];
        if !vocabulary.rare_characters.is_empty() {
            let count = vocabulary.rare_characters.len();
            notes.push(format!("{count} rare characters have no token of their own."));
        }
        let start = Self::open(ModelFiles::memory(label, files), shape.size())?;
        Ok(Self { notes, ..start })
    }

    /// Hash of configuration and tokenizer.
    pub fn digest(&self) -> String {
        let mut digest = Digest::default();
        for (name, content) in &self.companions {
            digest.update(name.as_bytes());
            digest.update(&(content.len() as u64).to_le_bytes());
            digest.update(content);
        }
        digest.summary().hash
    }
}

/// What the card says of a model that has learned before.
fn notes(arguments: &Arguments) -> Vec<String> {
    let Some(model) = &arguments.model else { return Vec::new() };
    let mut notes = vec![format!("Training went on from {}.", model.display())];
    notes.extend(arguments.vocabulary.map(|size| format!("It got a new vocabulary of {size} tokens.")));
    notes
}

/// The files of `--model`. The name of the built-in model is `built-in`.
fn given(model: &Path) -> Result<ModelFiles, CliError> {
    match model.to_str() {
        Some("built-in") => model_files(None),
        _ => model_files(Some(model)),
    }
}

/// A model with another vocabulary.
fn with_vocabulary(
    arguments: &Arguments,
    files: &ModelFiles,
    vocabulary: &TrainedVocabulary,
) -> Result<ModelFiles, CliError> {
    let languages = [arguments.from.as_deref(), arguments.to.as_deref()];
    let new = new_vocabulary(files, vocabulary, languages, arguments.numbers.seed)?;
    let NewVocabulary { kept, means, random, .. } = new;
    let label = format!("{} with a new vocabulary", files.label());
    notice(&format!("{label}: {kept} tokens as before, {means} from parts of them, {random} at random"));
    Ok(ModelFiles::memory(label, new.files))
}

/// Configuration and tokenizer of a model, without weights, records and texts about it.
fn companions(files: &ModelFiles) -> Result<Vec<(String, Vec<u8>)>, CliError> {
    let is_companion = |name: &str| {
        let is_other = [MOMENTS, RECORD].contains(&name) || name.ends_with(".index.json");
        !name.starts_with('.') && !is_other && COMPANIONS.iter().any(|end| name.ends_with(end))
    };
    let mut companions = Vec::new();
    for name in files.names()?.into_iter().filter(|name| is_companion(name)) {
        let content = files.read(&name, FILE_LIMIT)?.into_owned();
        let content = match &*name {
            CONFIG => in_f32(&files.file_label(CONFIG), &content)?,
            _ => content,
        };
        companions.push((name, content));
    }
    Ok(companions)
}

/// A configuration that says that the weights are in f32, as those of checkpoints are.
fn in_f32(file: &str, content: &[u8]) -> Result<Vec<u8>, CliError> {
    let mut config: Map<String, Value> = serde_json::from_slice(content)
        .map_err(|error| CliError::Input(format!("{file}: {}", json_problem(&error))))?;
    config.remove("torch_dtype"); // the name of the key in older versions
    config.insert("dtype".to_owned(), "float32".into());
    Ok(format!("{:#}\n", Value::from(config)).into_bytes())
}

/// The vocabulary of the pairs, and of a copy with other names if the training puts some in.
fn vocabulary(
    arguments: &Arguments,
    train: &[SentencePair],
    augmentation: &Augmentation,
) -> Result<TrainedVocabulary, CliError> {
    let normalization = Normalization::standard();
    let changed: Vec<SentencePair> = match augmentation.is_none() {
        true => Vec::new(),
        false => (0..train.len()).map(|index| augmentation.vocabulary_example(train, index)).collect(),
    };
    let learn = |size: usize| {
        notice(&format!("learning a vocabulary of {size} tokens"));
        let texts = train.iter().chain(&changed).flat_map(|pair| [&*pair.source, &*pair.target]);
        learn(texts, &VocabularyOptions::new(size), &normalization, &mut |_| {})
    };
    let vocabulary = match arguments.vocabulary {
        Some(size) => learn(size),
        // the user did not ask for this size
        None => match learn(defaults::vocabulary_size(train.len())) {
            Err(VocabularyError::TooLarge { largest, .. }) => learn(largest),
            Err(VocabularyError::TooSmall { smallest, .. }) => learn(smallest + smallest / 4),
            result => result,
        },
    };
    Ok(vocabulary?)
}

/// The shape of a new model: a named size, or a `config.json`.
enum Shape {
    Size(Size),
    Config(PathBuf, Map<String, Value>),
}

impl Shape {
    fn new(arguments: &Arguments, pairs: usize) -> Result<Self, CliError> {
        let Some(wanted) = &arguments.config else { return Ok(Self::Size(Size::of_pairs(pairs))) };
        if let Some(size) = Size::named(wanted) {
            return Ok(Self::Size(size));
        }
        let path = PathBuf::from(wanted);
        if !path.exists() {
            let problem = "neither tiny, small or base nor a file";
            return Err(CliError::Usage(format!("--config {wanted}: {problem}")));
        }
        let files = ModelFiles::configuration(&path);
        let content = files.read(CONFIG, CONFIG_LIMIT)?;
        let config = serde_json::from_slice(&content)
            .map_err(|error| CliError::Input(format!("{wanted}: {}", json_problem(&error))))?;
        Ok(Self::Config(path, config))
    }

    /// The numbers of training that suit the shape.
    fn size(&self) -> Size {
        match self {
            Self::Size(size) => *size,
            Self::Config(_, config) => {
                let width = config.get("d_model").and_then(Value::as_u64).unwrap_or_default();
                Size::of_width(usize::try_from(width).unwrap_or(usize::MAX))
            }
        }
    }

    fn new_model(&self, vocabulary: &TrainedVocabulary, dropout: f64) -> Result<NewModel, CliError> {
        let (path, config) = match self {
            Self::Size(size) => return Ok(size.new_model(vocabulary.size, dropout)),
            Self::Config(path, config) => (path.display(), config),
        };
        let model_type = config.get("model_type").and_then(Value::as_str).unwrap_or("marian");
        if model_type != "marian" {
            let problem = "a new model is a marian model; others can be trained with --model";
            return Err(CliError::Input(format!("{path}: \"model_type\" is {model_type:?}; {problem}")));
        }
        let defaults = NewModel::base(vocabulary.size);
        let number = |key: &str, default: usize| match config.get(key) {
            None => Ok(default),
            Some(value) => value.as_u64().and_then(|value| usize::try_from(value).ok()).ok_or_else(|| {
                CliError::Input(format!("{path}: {key:?} is {value}; it must be a whole number"))
            }),
        };
        let same = |encoder: &str, decoder: &str, default: usize| {
            let (one, other) = (number(encoder, default)?, number(decoder, default)?);
            match one == other {
                true => Ok(one),
                false => Err(CliError::Input(format!(
                    "{path}: {encoder:?} is {one}, and {decoder:?} is {other}; a new model has one number for both"
                ))),
            }
        };
        Ok(NewModel {
            d_model: number("d_model", defaults.d_model)?,
            heads: same("encoder_attention_heads", "decoder_attention_heads", defaults.heads)?,
            encoder_layers: number("encoder_layers", defaults.encoder_layers)?,
            decoder_layers: number("decoder_layers", defaults.decoder_layers)?,
            ffn: same("encoder_ffn_dim", "decoder_ffn_dim", defaults.ffn)?,
            max_positions: number("max_position_embeddings", defaults.max_positions)?,
            tied: config.get("tie_word_embeddings").and_then(Value::as_bool).unwrap_or(true),
            dropout,
            ..defaults
        })
    }
}

/// What the result of a run depends on, by the names of options.
pub fn settings(
    arguments: &Arguments,
    start: &Start,
    [train, dev]: [&[SentencePair]; 2],
    (chosen, substitutions): (Chosen, Option<String>),
) -> Settings {
    let examples = &arguments.examples;
    let numbers = &arguments.numbers;
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let given = |text: Option<String>| text.unwrap_or_else(|| "not given".to_owned());
    let settings = [
        ("the training data", super::data::Corpus::digest(train)),
        ("the dev set", super::data::Corpus::digest(dev)),
        ("the hash of configuration and tokenizer", start.digest()),
        ("--model", given(path(&arguments.model))),
        ("--config", given(arguments.config.clone())),
        ("--vocabulary", given(arguments.vocabulary.map(|size| size.to_string()))),
        ("--from", given(arguments.from.clone())),
        ("--to", given(arguments.to.clone())),
        ("--substitute", given(substitutions)),
        ("--joined", examples.joined.to_string()),
        ("--lower-cased", examples.lower_cased.to_string()),
        ("--unpunctuated", examples.unpunctuated.to_string()),
        ("--freeze", given(Some(arguments.freeze.join(" ")))),
        ("--train-only", given(Some(arguments.train_only.join(" ")))),
        ("--batch-tokens", chosen.batch_tokens.to_string()),
        ("--accumulate", chosen.accumulate.to_string()),
        ("--learning-rate", chosen.learning_rate.to_string()),
        ("--warmup", chosen.warmup.to_string()),
        ("--cooldown", numbers.cooldown.to_string()),
        ("--dropout", chosen.dropout.to_string()),
        ("--label-smoothing", numbers.label_smoothing.to_string()),
        ("--weight-decay", numbers.weight_decay.to_string()),
        ("--max-norm", numbers.max_norm.to_string()),
        ("--precision", numbers.precision.name().to_owned()),
        ("--seed", numbers.seed.to_string()),
        ("--goal", format!("{:?}", arguments.tests.goal).to_lowercase()),
    ];
    settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
