//! The options of a training. Their names are those of the command's options.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::super::Recipe;
use super::super::pairs::{PairsOptions, SentencePair};
use super::super::stopping::Goal;
use super::defaults::Size;
use super::error::SessionError;
use crate::model::SelfAttentionChoice;
use crate::precision::Products;

/// Where sentence pairs come from.
#[derive(Clone, Debug, PartialEq)]
pub enum PairSource {
    /// A file of lines `SOURCE TAB TARGET`.
    File(PathBuf),
    /// Two files with a sentence on each line.
    TwoFiles([PathBuf; 2]),
    /// Pairs that the caller has.
    Pairs {
        /// Their name in messages.
        name: String,
        /// The pairs, without white space at their ends.
        pairs: Vec<SentencePair>,
    },
}

impl PairSource {
    /// The sources of one file, or of two that belong together; none without files.
    pub fn of_files(files: &[PathBuf]) -> Vec<Self> {
        match files {
            [source, target] => vec![Self::TwoFiles([source.clone(), target.clone()])],
            files => files.iter().cloned().map(Self::File).collect(),
        }
    }
}

/// The shape of a new model.
#[derive(Clone, Debug, PartialEq)]
pub enum Config {
    /// `tiny`, `small`, `base`, or the path of a `config.json`.
    Named(String),
    /// Keys of a `config.json`.
    Keys(Map<String, Value>),
}

/// The options of a training.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Pairs to train on.
    pub pairs: Vec<PairSource>,
    /// Pairs to test with; if empty, some of `pairs` are held back.
    pub dev: Vec<PairSource>,
    /// Folder to write the model to.
    pub out: PathBuf,
    /// Whether to go on from the last checkpoint in `out`.
    pub resume: bool,
    /// The model to go on from, as the user names it.
    pub model: Option<PathBuf>,
    /// Shape of a new model; by default the amount of data decides.
    pub config: Option<Config>,
    /// Tokens of a new vocabulary.
    pub vocabulary: Option<usize>,
    /// Encoder layers that get learned projections of keys and values.
    pub attention: Option<SelfAttentionChoice>,
    /// Language of the sources.
    pub from: Option<String>,
    /// Language of the targets.
    pub to: Option<String>,
    /// Number of steps after which the training ends.
    pub max_steps: Option<u64>,
    /// Minutes after which the training ends.
    pub max_minutes: Option<f64>,
    /// Number of tests in a row without a best one that ends the training; 0: tests never do.
    pub patience: usize,
    /// Parts of names of tensors that stay as they are.
    pub freeze: Vec<String>,
    /// Parts of names of tensors that alone are trained.
    pub train_only: Vec<String>,
    /// How examples are chosen and changed.
    pub examples: ExampleOptions,
    /// Batches, learning rate, regularization.
    pub numbers: Numbers,
    /// Tests and checkpoints on the way.
    pub tests: Tests,
    /// The command or the call, for the model card.
    pub command: String,
}

impl Options {
    /// The defaults for a training into a folder.
    pub fn new(pairs: Vec<PairSource>, out: PathBuf) -> Self {
        Self {
            pairs,
            dev: Vec::new(),
            out,
            resume: false,
            model: None,
            config: None,
            vocabulary: None,
            attention: None,
            from: None,
            to: None,
            max_steps: None,
            max_minutes: None,
            patience: 10,
            freeze: Vec::new(),
            train_only: Vec::new(),
            examples: ExampleOptions::default(),
            numbers: Numbers::default(),
            tests: Tests::default(),
            command: String::new(),
        }
    }
}

/// Which pairs are taken, and how they change in every epoch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExampleOptions {
    /// Tags of the rows to take: [`PairsOptions::tags`].
    pub tags: Vec<String>,
    /// Whether columns after the second are ignored.
    pub ignore_columns: bool,
    /// Whether sources and targets change places.
    pub swap: bool,
    /// The file of substitutions.
    pub substitute: Option<PathBuf>,
    /// Share of examples that are two pairs, joined.
    pub joined: f64,
    /// Share of examples whose source is in lower case.
    pub lower_cased: f64,
    /// Share of examples whose source has no punctuation at its end.
    pub unpunctuated: f64,
}

impl ExampleOptions {
    /// The options of the readers of files.
    pub fn of_pairs(&self) -> PairsOptions {
        let Self { ignore_columns, ref tags, .. } = *self;
        PairsOptions { ignore_columns, tags: tags.clone(), ..PairsOptions::default() }
    }
}

/// Batches, learning rate, regularization. `None`: the number that suits the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    /// Target tokens of a batch.
    pub batch_tokens: Option<usize>,
    /// Batches of a step.
    pub accumulate: Option<usize>,
    /// Peak learning rate.
    pub learning_rate: Option<f64>,
    /// Steps in which the learning rate rises.
    pub warmup: Option<u64>,
    /// Last share of the training in which the learning rate falls.
    pub cooldown: f64,
    /// Share of values that are dropped.
    pub dropout: Option<f64>,
    /// ε of label smoothing.
    pub label_smoothing: f32,
    /// Share of a weight that a learning rate of 1 takes away in a step.
    pub weight_decay: f32,
    /// Largest norm of all gradients; 0: none.
    pub max_norm: f32,
    /// How matrices are multiplied.
    pub products: Products,
    /// Seed of weights, order and dropout.
    pub seed: u64,
}

impl Default for Numbers {
    fn default() -> Self {
        Self {
            batch_tokens: None,
            accumulate: None,
            learning_rate: None,
            warmup: None,
            cooldown: 0.3,
            dropout: None,
            label_smoothing: 0.1,
            weight_decay: 0.0,
            max_norm: 1.0,
            products: Products::F32,
            seed: 1,
        }
    }
}

/// Tests and checkpoints on the way.
#[derive(Clone, Debug, PartialEq)]
pub struct Tests {
    /// The number that decides which model is the best.
    pub goal: Goal,
    /// Steps between tests; by default an epoch, 50 to 1000.
    pub test_steps: Option<u64>,
    /// Number of dev pairs to translate at every test; 0: none.
    pub bleu_pairs: usize,
    /// Minutes between checkpoints.
    pub save_minutes: f64,
    /// Number of checkpoints to keep.
    pub keep: usize,
}

impl Default for Tests {
    fn default() -> Self {
        Self { goal: Goal::Loss, test_steps: None, bleu_pairs: 100, save_minutes: 5.0, keep: 3 }
    }
}

/// Numbers that were given, or that suit the model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chosen {
    pub batch_tokens: usize,
    pub accumulate: usize,
    pub learning_rate: f64,
    pub warmup: u64,
    pub dropout: f64,
}

impl Numbers {
    pub(super) fn chosen(&self, size: Size) -> Chosen {
        Chosen {
            batch_tokens: self.batch_tokens.unwrap_or(size.batch_tokens),
            // a batch of one's own size is a step of one's own size
            accumulate: self.accumulate.unwrap_or(if self.batch_tokens.is_some() {
                1
            } else {
                size.accumulate
            }),
            learning_rate: self.learning_rate.unwrap_or(size.peak),
            warmup: self.warmup.unwrap_or(size.warmup),
            dropout: self.dropout.unwrap_or(size.dropout),
        }
    }
}

/// Batches of a step, beyond any use: their sentences are in memory together.
const MOST_ACCUMULATED: usize = 1 << 16;

impl Options {
    /// Checks what can be checked before anything is read.
    pub(super) fn check(&self) -> Result<(), SessionError> {
        let usage = |problem: String| Err(SessionError::Usage(problem));
        if !(self.tests.save_minutes.is_finite() && self.tests.save_minutes >= 0.0) {
            return usage("--save-minutes must be a number from 0 on".to_owned());
        }
        match self.numbers.accumulate {
            Some(0) => return usage("--accumulate is 0; a step has at least 1 batch".to_owned()),
            Some(count @ MOST_ACCUMULATED..) => {
                return usage(format!("--accumulate is {count}; it must be below {MOST_ACCUMULATED}"));
            }
            _ => {}
        }
        if self.out.as_os_str().is_empty() {
            return usage("--out is empty; name a folder to write to".to_owned());
        }
        let none = [
            ("--test-steps", self.tests.test_steps == Some(0)),
            ("--max-steps", self.max_steps == Some(0)),
            ("--batch-tokens", self.numbers.batch_tokens == Some(0)),
            ("--keep", self.tests.keep == 0),
        ];
        if let Some((name, _)) = none.into_iter().find(|(_, is_none)| *is_none) {
            return usage(format!("{name} is 0; it must be at least 1"));
        }
        if self.tests.goal == Goal::Bleu && self.tests.bleu_pairs == 0 {
            return usage("--goal bleu needs translations; --bleu-pairs is 0".to_owned());
        }
        let ExampleOptions { joined, lower_cased, unpunctuated, .. } = self.examples;
        let shares = [("--joined", joined), ("--lower-cased", lower_cased), ("--unpunctuated", unpunctuated)];
        if let Some((name, share)) = shares.into_iter().find(|(_, share)| !(0.0..=1.0).contains(share)) {
            return usage(format!("{name} is {share}; a share is a number from 0 to 1"));
        }
        let recipe = self.recipe(self.numbers.dropout.unwrap_or_default());
        recipe.check().map_err(|error| SessionError::Usage(error.to_string()))
    }

    pub(super) fn recipe(&self, dropout: f64) -> Recipe {
        let numbers = &self.numbers;
        Recipe {
            seed: numbers.seed,
            dropout: dropout as f32,
            label_smoothing: numbers.label_smoothing,
            weight_decay: numbers.weight_decay,
            max_norm: (numbers.max_norm != 0.0).then_some(numbers.max_norm),
            products: numbers.products,
            freeze: self.freeze.clone(),
            train_only: self.train_only.clone(),
            ..Recipe::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_nothing_are_named() {
        let mut options = Options::new(Vec::new(), "out".into());
        assert!(options.check().is_ok());
        options.numbers.batch_tokens = Some(0);
        let problem = |options: &Options| options.check().unwrap_err().to_string();
        assert_eq!(problem(&options), "--batch-tokens is 0; it must be at least 1");
        options.numbers.batch_tokens = None;
        options.tests.keep = 0;
        assert_eq!(problem(&options), "--keep is 0; it must be at least 1");
    }
}
