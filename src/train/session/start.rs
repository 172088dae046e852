//! The model that a training begins with: a new one, another one, or a checkpoint.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::super::augment::Augmentation;
use super::super::card::Card;
use super::super::checkpoint::{Record, Settings, WEIGHTS};
use super::super::folder::marian_folder;
use super::super::new_model::NewModel;
use super::super::new_projections::{NewProjections, new_projections};
use super::super::new_vocabulary::{NewVocabulary, new_vocabulary};
use super::super::pairs::SentencePair;
use super::super::stopping::Goal;
use super::super::vocabulary::{TrainedVocabulary, VocabularyError, VocabularyOptions, learn};
use super::corpus::Corpus;
use super::defaults::{self, FINE_TUNING, Size};
use super::error::SessionError;
use super::hash::hash;
use super::observer::Observer;
use super::options::{Chosen, Config, Options};
use crate::json_problem::json_problem;
use crate::model::Model;
use crate::model::files::{ModelFiles, is_companion};
use crate::precision::Products;
use crate::readable::{counted, grouped};
use crate::text::Normalization;

const CONFIG: &str = "config.json";
/// Limit on files beside the weights, bytes: vocabularies are the largest.
const FILE_LIMIT: u64 = 256 << 20;
/// Limit on a given configuration, bytes.
const CONFIG_LIMIT: u64 = 1 << 20;

/// A model to train, and what goes with it.
pub(super) struct Start {
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
    /// Makes or opens the model. `checkpoint`: the folder to go on from; else `given`: the files of the model to go on from.
    pub fn new(
        options: &Options,
        (train, augmentation): (&[SentencePair], &Augmentation),
        (checkpoint, given): (Option<&Path>, Option<ModelFiles>),
        observer: &mut dyn Observer,
    ) -> Result<Self, SessionError> {
        let shape = Shape::new(options, train.len())?;
        match (checkpoint, given) {
            (Some(folder), _) => {
                let files = ModelFiles::directory(folder)?;
                let record = Record::read(&files)?;
                let step = record.state.steps;
                observer.line(&format!("going on from {}, step {step}", folder.display()));
                let size = if options.model.is_some() { FINE_TUNING } else { shape.size() };
                let start = Self::open(files.clone(), size)?;
                Ok(Self { resumed: Some((files, record)), notes: notes(options), ..start })
            }
            (None, Some(files)) => {
                let files = match options.vocabulary {
                    None => files,
                    Some(_) => {
                        let vocabulary = vocabulary(options, train, augmentation, observer)?;
                        with_vocabulary(options, &files, &vocabulary, observer)?
                    }
                };
                let files = with_projections(options, files, observer)?;
                Ok(Self { notes: notes(options), ..Self::open(files, FINE_TUNING)? })
            }
            (None, None) => {
                let vocabulary = vocabulary(options, train, augmentation, observer)?;
                Self::make(options, &shape, &vocabulary, observer)
            }
        }
    }

    fn open(files: ModelFiles, size: Size) -> Result<Self, SessionError> {
        let companions = companions(&files)?;
        let model = Model::from_files(files)?;
        Ok(Self { model, companions, size, resumed: None, notes: Vec::new() })
    }

    fn make(
        options: &Options,
        shape: &Shape,
        vocabulary: &TrainedVocabulary,
        observer: &mut dyn Observer,
    ) -> Result<Self, SessionError> {
        let dropout = options.numbers.chosen(shape.size()).dropout;
        let new = shape.new_model(vocabulary, dropout)?;
        let card = Card {
            source_language: options.from.clone().unwrap_or_default(),
            target_language: options.to.clone().unwrap_or_default(),
            ..Card::default()
        };
        let weights = new.initial_weights(options.numbers.seed)?;
        let files = marian_folder(&new, vocabulary.into(), (weights, "float32"), &card)?;
        let label = "the new model";
        observer.line(&format!(
            "{label}: d_model {}, {} + {} layers, {} tokens, {} trained parameters",
            new.d_model,
            new.encoder_layers,
            new.decoder_layers,
            grouped(vocabulary.size),
            grouped(new.parameters())
        ));
        let mut notes = vec![format!("Text is normalized by the rules {}.", vocabulary.normalization)];
        if !vocabulary.rare_characters.is_empty() {
            notes.push(match vocabulary.rare_characters.len() {
                1 => "One rare character has no token of its own.".to_owned(),
                count => format!("{} rare characters have no token of their own.", grouped(count)),
            });
        }
        notes.extend(projections_note(options));
        let files = with_projections(options, ModelFiles::memory(label, files), observer)?;
        Ok(Self { notes, ..Self::open(files, shape.size())? })
    }

    /// Hash of configuration and tokenizer.
    pub fn digest(&self) -> String {
        let lengths: Vec<[u8; 8]> =
            self.companions.iter().map(|(_, content)| (content.len() as u64).to_le_bytes()).collect();
        let companions = self.companions.iter().zip(&lengths);
        hash(companions.flat_map(|((name, content), length)| [name.as_bytes(), &length[..], content]))
    }
}

/// What the card says of a model that has learned before.
fn notes(options: &Options) -> Vec<String> {
    let Some(model) = &options.model else { return Vec::new() };
    let mut notes = vec![format!("Training went on from {}.", model.display())];
    notes.extend(
        options.vocabulary.map(|size| format!("It got a new vocabulary of {}.", counted(size, "token"))),
    );
    notes.extend(projections_note(options));
    notes
}

fn projections_note(options: &Options) -> Option<String> {
    let choice = options.attention.as_ref()?;
    Some(format!("Layers learned projections of keys and values along the length: {choice}."))
}

/// A model whose layers have the projections that the options choose.
fn with_projections(
    options: &Options,
    files: ModelFiles,
    observer: &mut dyn Observer,
) -> Result<ModelFiles, SessionError> {
    let Some(choice) = &options.attention else { return Ok(files) };
    let NewProjections { config, weights, layers } = new_projections(&files, choice)?;
    observer.line(&format!("{}: {layers} layers got projections to learn, {choice}", files.label()));
    let others = companions(&files)?.into_iter().filter(|(name, _)| name != CONFIG);
    let own = [(CONFIG.to_owned(), config), (WEIGHTS.to_owned(), weights)];
    Ok(ModelFiles::memory(files.label(), others.chain(own)))
}

/// A model with another vocabulary.
fn with_vocabulary(
    options: &Options,
    files: &ModelFiles,
    vocabulary: &TrainedVocabulary,
    observer: &mut dyn Observer,
) -> Result<ModelFiles, SessionError> {
    let languages = [options.from.as_deref(), options.to.as_deref()];
    let new = new_vocabulary(files, vocabulary, languages, options.numbers.seed)?;
    let NewVocabulary { kept, means, random, .. } = new;
    let label = format!("{} with a new vocabulary", files.label());
    let counts = format!("{kept} tokens as before, {means} from parts of them, {random} at random");
    observer.line(&format!("{label}: {counts}"));
    Ok(ModelFiles::memory(label, new.files))
}

/// Configuration and tokenizer of a model, as a checkpoint in f32 has them: without weights, records and texts about it.
///
/// # Errors
/// Those of the files.
pub fn companions(files: &ModelFiles) -> Result<Vec<(String, Vec<u8>)>, SessionError> {
    // a checkpoint's card would be an older one
    let goes_along = |name: &String| is_companion(name) && !name.ends_with(".md");
    let mut companions = Vec::new();
    for name in files.names()?.into_iter().filter(goes_along) {
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
fn in_f32(file: &str, content: &[u8]) -> Result<Vec<u8>, SessionError> {
    let mut config: Map<String, Value> = serde_json::from_slice(content)
        .map_err(|error| SessionError::Input(format!("{file}: {}", json_problem(&error))))?;
    config.remove("torch_dtype"); // the name of the key in older versions
    config.insert("dtype".to_owned(), "float32".into());
    Ok(format!("{:#}\n", Value::from(config)).into_bytes())
}

/// The vocabulary of the pairs, and of a copy with other names if the training puts some in.
fn vocabulary(
    options: &Options,
    train: &[SentencePair],
    augmentation: &Augmentation,
    observer: &mut dyn Observer,
) -> Result<TrainedVocabulary, SessionError> {
    let normalization = Normalization::standard();
    let changed: Vec<SentencePair> = match augmentation.is_none() {
        true => Vec::new(),
        false => (0..train.len()).map(|index| augmentation.vocabulary_example(train, index)).collect(),
    };
    let mut learn = |size: usize, why: &str| {
        observer.line(&format!("learning a vocabulary of {}{why}", counted(size, "token")));
        let texts = train.iter().chain(&changed).flat_map(|pair| [&*pair.source, &*pair.target]);
        learn(texts, &VocabularyOptions::new(size), &normalization, &mut |_| {})
    };
    let vocabulary = match options.vocabulary {
        Some(size) => learn(size, ""),
        // the user did not ask for this size
        None => match learn(defaults::vocabulary_size(train.len()), "") {
            Err(VocabularyError::TooLarge { largest, .. }) => learn(largest, ": these pairs have no more"),
            Err(VocabularyError::TooSmall { smallest, .. }) => {
                let why = format!(": their characters need {}", grouped(smallest));
                learn(smallest + smallest / 4, &why)
            }
            result => result,
        },
    };
    Ok(vocabulary?)
}

/// The shape of a new model: a named size, or a `config.json`.
enum Shape {
    Size(Size),
    /// Name for messages, and keys.
    Config(String, Map<String, Value>),
}

impl Shape {
    fn new(options: &Options, pairs: usize) -> Result<Self, SessionError> {
        let named = match &options.config {
            None => return Ok(Self::Size(Size::of_pairs(pairs))),
            Some(Config::Keys(keys)) => return Ok(Self::Config("config".to_owned(), keys.clone())),
            Some(Config::Named(name)) => name,
        };
        if let Some(size) = Size::named(named) {
            return Ok(Self::Size(size));
        }
        let path = PathBuf::from(named);
        if !path.exists() {
            let problem = "neither tiny, small or base nor a file";
            return Err(SessionError::Usage(format!("--config {named}: {problem}")));
        }
        let content = ModelFiles::configuration(&path).read(CONFIG, CONFIG_LIMIT)?.into_owned();
        let config = serde_json::from_slice(&content)
            .map_err(|error| SessionError::Input(format!("{named}: {}", json_problem(&error))))?;
        Ok(Self::Config(path.display().to_string(), config))
    }

    /// The numbers of training that suit the shape.
    fn size(&self) -> Size {
        match self {
            Self::Size(size) => *size,
            Self::Config(_, config) => {
                let width = config.get("d_model").and_then(Value::as_u64).unwrap_or_default();
                let mut size = Size::of_width(usize::try_from(width).unwrap_or(usize::MAX));
                size.dropout = config.get("dropout").and_then(Value::as_f64).unwrap_or(size.dropout);
                size
            }
        }
    }

    fn new_model(&self, vocabulary: &TrainedVocabulary, dropout: f64) -> Result<NewModel, SessionError> {
        let (file, config) = match self {
            Self::Size(size) => return Ok(size.new_model(vocabulary.size, dropout)),
            Self::Config(name, config) => (name, config),
        };
        let model_type = config.get("model_type").and_then(Value::as_str).unwrap_or("marian");
        if model_type != "marian" {
            let problem = "a new model is a marian model; others can be trained with --model";
            return Err(SessionError::Input(format!("{file}: \"model_type\" is {model_type:?}; {problem}")));
        }
        check_keys(file, config)?;
        let defaults = NewModel::base(vocabulary.size);
        let number = |key: &str, default: usize| match config.get(key) {
            None => Ok(default),
            Some(value) => value.as_u64().and_then(|value| usize::try_from(value).ok()).ok_or_else(|| {
                SessionError::Input(format!("{file}: {key:?} is {value}; it must be a whole number"))
            }),
        };
        let same = |encoder: &str, decoder: &str, default: usize| {
            let (one, other) = (number(encoder, default)?, number(decoder, default)?);
            match one == other {
                true => Ok(one),
                false => Err(SessionError::Input(format!(
                    "{file}: {encoder:?} is {one}, and {decoder:?} is {other}; a new model has one number for both"
                ))),
            }
        };
        let shape = NewModel {
            d_model: number("d_model", defaults.d_model)?,
            heads: same("encoder_attention_heads", "decoder_attention_heads", defaults.heads)?,
            encoder_layers: number("encoder_layers", defaults.encoder_layers)?,
            decoder_layers: number("decoder_layers", defaults.decoder_layers)?,
            ffn: same("encoder_ffn_dim", "decoder_ffn_dim", defaults.ffn)?,
            max_positions: number("max_position_embeddings", defaults.max_positions)?,
            tied: config.get("tie_word_embeddings").and_then(Value::as_bool).unwrap_or(true),
            dropout,
            ..defaults
        };
        // what a new model has in one way only
        let own = shape.config("float32");
        for (key, meant) in FIXED {
            let Some(value) = config.get(key).filter(|value| !value.is_null()) else { continue };
            if *value != own[meant] && (value.as_f64().is_none() || value.as_f64() != own[meant].as_f64()) {
                let own = &own[meant];
                return Err(SessionError::Input(format!(
                    "{file}: {key:?} is {value}; the new model has {own}"
                )));
            }
        }
        Ok(shape)
    }
}

/// Refuses keys that no `MarianConfig` has, such as misspelt ones, and a dropout that is no number.
fn check_keys(file: &str, config: &Map<String, Value>) -> Result<(), SessionError> {
    let own = NewModel::base(1).config("float32");
    let known = |key: &str| {
        key.starts_with('_')
            || own.get(key).is_some()
            || FIXED.iter().any(|(fixed, _)| *fixed == key)
            || WITHOUT_EFFECT.split_whitespace().any(|other| other == key)
    };
    if let Some(key) = config.keys().find(|key| !known(key)) {
        let problem = "is no key of MarianConfig; check its spelling, or leave it out";
        return Err(SessionError::Input(format!("{file}: {key:?} {problem}")));
    }
    match config.get("dropout") {
        Some(value) if !value.is_number() => {
            Err(SessionError::Input(format!("{file}: \"dropout\" is {value}; it must be a number")))
        }
        _ => Ok(()),
    }
}

/// Keys of `MarianConfig` and its base class that a new model does not depend on: how texts are generated, and how files are written.
const WITHOUT_EFFECT: &str = "
    add_bias_logits add_cross_attention add_final_layer_norm bad_words_ids begin_suppress_tokens chunk_size_feed_forward
    classif_dropout classifier_dropout cross_attention_hidden_size diversity_penalty do_sample early_stopping
    encoder_no_repeat_ngram_size exponential_decay_length_penalty extra_pos_embeddings finetuning_task forced_bos_token_id
    gradient_checkpointing id2label label2id length_penalty max_length max_new_tokens min_length no_repeat_ngram_size
    normalize_before normalize_embedding num_beam_groups num_beams num_labels num_return_sequences output_attentions
    output_hidden_states output_past output_scores prefix problem_type pruned_heads remove_invalid_values repetition_penalty
    return_dict return_dict_in_generate sep_token_id suppress_tokens task_specific_params temperature tf_legacy_loss
    tie_encoder_decoder tokenizer_class top_k top_p torch_dtype torchscript transformers_version typical_p use_bfloat16
";

/// Keys of `MarianConfig` with one value for new models, and the keys whose value they must have.
const FIXED: [(&str, &str); 11] = [
    ("activation_dropout", "activation_dropout"),
    ("activation_function", "activation_function"),
    ("attention_dropout", "attention_dropout"),
    ("decoder_layerdrop", "decoder_layerdrop"),
    ("encoder_layerdrop", "encoder_layerdrop"),
    ("hidden_size", "d_model"),
    ("num_attention_heads", "encoder_attention_heads"),
    ("num_hidden_layers", "encoder_layers"),
    ("scale_embedding", "scale_embedding"),
    ("share_encoder_decoder_embeddings", "share_encoder_decoder_embeddings"),
    ("static_position_embeddings", "static_position_embeddings"),
];

/// What the result of a run depends on, by the names of options.
pub(super) fn settings(
    options: &Options,
    start: &Start,
    [train, dev]: [&[SentencePair]; 2],
    (chosen, substitutions): (Chosen, Option<String>),
) -> Settings {
    let examples = &options.examples;
    let numbers = &options.numbers;
    let given = |text: Option<String>| text.unwrap_or_else(|| "not given".to_owned());
    let config = options.config.as_ref().map(|config| match config {
        Config::Named(name) => name.clone(),
        Config::Keys(keys) => Value::from(keys.clone()).to_string(),
    });
    let precision = match numbers.products {
        Products::F32 => "f32",
        Products::Bf16 => "bf16",
    };
    let goal = match options.tests.goal {
        Goal::Loss => "loss",
        Goal::Bleu => "bleu",
    };
    let settings = [
        ("the training data", Corpus::digest(train)),
        ("the dev set", Corpus::digest(dev)),
        ("the hash of configuration and tokenizer", start.digest()),
        ("--model", given(options.model.as_ref().map(|path| path.display().to_string()))),
        ("--config", given(config)),
        ("--vocabulary", given(options.vocabulary.map(|size| size.to_string()))),
        ("--attention", given(options.attention.as_ref().map(ToString::to_string))),
        ("--from", given(options.from.clone())),
        ("--to", given(options.to.clone())),
        ("--substitute", given(substitutions)),
        ("--joined", examples.joined.to_string()),
        ("--lower-cased", examples.lower_cased.to_string()),
        ("--unpunctuated", examples.unpunctuated.to_string()),
        ("--freeze", options.freeze.join(" ")),
        ("--train-only", options.train_only.join(" ")),
        ("--batch-tokens", chosen.batch_tokens.to_string()),
        ("--accumulate", chosen.accumulate.to_string()),
        ("--learning-rate", chosen.learning_rate.to_string()),
        ("--warmup", chosen.warmup.to_string()),
        ("--cooldown", numbers.cooldown.to_string()),
        ("--dropout", chosen.dropout.to_string()),
        ("--label-smoothing", numbers.label_smoothing.to_string()),
        ("--weight-decay", numbers.weight_decay.to_string()),
        ("--max-norm", numbers.max_norm.to_string()),
        ("--precision", precision.to_owned()),
        ("--seed", numbers.seed.to_string()),
        ("--goal", goal.to_owned()),
    ];
    // checkpoints of earlier versions do not tell of a swap
    let swap = examples.swap.then(|| ("--swap", "given".to_owned()));
    settings.into_iter().chain(swap).map(|(name, value)| (name.to_owned(), value)).collect()
}
