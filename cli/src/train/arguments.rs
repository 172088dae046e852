//! The command line of `wordloom train`.

use std::path::PathBuf;

use wordloom::DeviceChoice;
use wordloom::model::SelfAttentionChoice;
use wordloom::precision::Products;
use wordloom::train::session::{self, Config, Options, PairSource};
use wordloom::train::stopping::Goal;

use super::pair_files::PairFiles;
use super::text::typed;
use crate::setup::{count, whole};

#[derive(clap::Args)]
#[command(after_help = "\
Example:
  wordloom train --pairs train.tsv.gz --from en --to de --out my-model
  wordloom translate --model my-model \"Where is the train station?\"")]
#[command(after_long_help = "\
Defaults grow with the data, because a large model learns little from few pairs
and takes long for it. Each option above replaces one of them:

  pairs       d_model  layers  tokens of a step  warm-up  peak rate  dropout
  to 20,000     192    2 + 2     768                100     2e-3       0.1
  to 500,000    256    4 + 3    2048 (2 batches)    400     1.2e-3     0.1
  more          512    6 + 6    4096 (4 batches)   4000     7e-4       0.1

--vocabulary: 30 × √pairs, 1,000 to 32,000. --max-minutes: a minute for 500
pairs, 4 to 120. --patience 0: tests never end it. --dev: one pair in 20 of
--pairs, at most 500, which are not trained on. With --model: batches of 1024
tokens, warm-up 50, peak rate 2e-4, dropout 0.1.

PLACE is a part of a tensor's name, such as encoder., shared, layer_norm or
decoder.layers.0.; inspect --json lists the names. Both options can be repeated.

DIR gets the best model so far (a folder for every command and for
transformers), train.html with curves, train.jsonl with all numbers, and
checkpoints/, each of which is a model's folder, too. Ctrl-C writes one; after
kill -9 --resume goes on from the last one. With --max-steps on the same device
a resumed training is bit for bit the same; --max-minutes reads the clock.

--tags, --swap, --substitute, --joined, --lower-cased and --unpunctuated choose
and change the examples; each epoch draws anew, by seed. docs/training.md
describes the file of --substitute; configs/substitutions has two.

Examples:
  wordloom train --pairs train.tsv.gz --from en --to de --out my-model
  wordloom train --pairs train.tsv.gz --from en --to de --out my-model --resume
  wordloom train --pairs train.tsv.gz --pairs more.tsv.gz --tags news,stories \\
      --substitute en-de.json --joined 0.1 --lower-cased 0.03 \\
      --unpunctuated 0.03 --from de --to en --swap --out german-english
  wordloom train --model my-model --pairs glossary.tsv --out my-words \\
      --freeze encoder. --max-minutes 5
  wordloom average my-model/checkpoints/* --out averaged")]
pub struct Arguments {
    #[command(flatten)]
    pub pairs: PairFiles,
    /// Pairs to test with [default: some of --pairs]
    #[arg(long, value_name = "FILE", num_args = 1..=2)]
    pub dev: Vec<PathBuf>,
    /// Folder to write the model to
    #[arg(short, long, value_name = "DIR")]
    pub out: PathBuf,
    /// Go on from the last checkpoint in --out
    #[arg(long)]
    pub resume: bool,
    /// Go on from this model: folder, name, or built-in
    #[arg(long, value_name = "MODEL")]
    pub model: Option<PathBuf>,
    /// Shape: tiny, small, base, or a config.json
    #[arg(long, value_name = "SHAPE", conflicts_with = "model")]
    pub config: Option<String>,
    /// Tokens of a new vocabulary, also for --model
    #[arg(long, value_name = "N", value_parser = count)]
    pub vocabulary: Option<usize>,
    /// Learn projections of keys and values: encoder.*=linformer:32
    #[arg(long, value_name = "LAYER=KIND,…", hide_short_help = true)]
    pub attention: Option<SelfAttentionChoice>,
    /// Language of the sources, such as en
    #[arg(long, value_name = "LANG")]
    pub from: Option<String>,
    /// Language of the targets, such as de
    #[arg(long, value_name = "LANG")]
    pub to: Option<String>,
    /// Stop after N steps
    #[arg(long, value_name = "N", value_parser = whole)]
    pub max_steps: Option<u64>,
    /// Stop after N minutes of training
    #[arg(long, value_name = "N")]
    pub max_minutes: Option<f64>,
    /// Stop after N tests that were not best
    #[arg(long, value_name = "N", value_parser = count, default_value = "10")]
    pub patience: usize,
    /// Keep tensors with PLACE in their names as they are
    #[arg(long, value_name = "PLACE")]
    pub freeze: Vec<String>,
    /// Train only tensors with PLACE in their names
    #[arg(long, value_name = "PLACE")]
    pub train_only: Vec<String>,
    #[command(flatten)]
    pub examples: ExampleOptions,
    #[command(flatten)]
    pub numbers: Numbers,
    #[command(flatten)]
    pub tests: Tests,
    /// auto, gpu, cpu, or a GPU's name
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: DeviceChoice,
}

/// Which pairs are taken, and how they change in every epoch.
#[derive(clap::Args)]
pub struct ExampleOptions {
    /// Take rows with these tags (a,b) as third column, or with none
    #[arg(long, value_name = "TAGS", value_delimiter = ',', hide_short_help = true)]
    pub tags: Vec<String>,
    /// Columns of --pairs and --dev are TARGET TAB SOURCE
    #[arg(long, hide_short_help = true)]
    pub swap: bool,
    /// Other names and numbers in every epoch, by lists for --from, --to
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub substitute: Option<PathBuf>,
    /// Share of examples that are two pairs, joined
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share, hide_short_help = true)]
    pub joined: f64,
    /// Share of examples whose source is in lower case
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share, hide_short_help = true)]
    pub lower_cased: f64,
    /// Share of examples whose source has no punctuation at its end
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share, hide_short_help = true)]
    pub unpunctuated: f64,
}

/// A number from 0 to 1.
fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("a share is a number from 0 to 1".to_owned()),
    }
}

/// Batches, learning rate, regularization.
#[derive(clap::Args)]
pub struct Numbers {
    /// Target tokens of a batch
    #[arg(long, value_name = "N", value_parser = count, hide_short_help = true)]
    pub batch_tokens: Option<usize>,
    /// Batches of a step, as one larger batch in the memory of one
    #[arg(long, value_name = "N", value_parser = count, hide_short_help = true)]
    pub accumulate: Option<usize>,
    /// Peak learning rate, at the end of the warm-up
    #[arg(long, value_name = "RATE", hide_short_help = true)]
    pub learning_rate: Option<f64>,
    /// Steps in which the learning rate rises
    #[arg(long, value_name = "N", value_parser = whole, hide_short_help = true)]
    pub warmup: Option<u64>,
    /// Last share of the training in which it falls to almost 0
    #[arg(long, value_name = "SHARE", default_value = "0.3", hide_short_help = true)]
    pub cooldown: f64,
    /// Share of values that are dropped [default: by the data, see below]
    #[arg(long, value_name = "SHARE", hide_short_help = true)]
    pub dropout: Option<f64>,
    /// ε of label smoothing
    #[arg(long, value_name = "SHARE", default_value = "0.1", hide_short_help = true)]
    pub label_smoothing: f32,
    /// Share of a weight that a learning rate of 1 takes away in a step
    #[arg(long, value_name = "SHARE", default_value = "0", hide_short_help = true)]
    pub weight_decay: f32,
    /// Largest norm of all gradients; larger ones are clipped; 0: none
    #[arg(long, value_name = "N", default_value = "1", hide_short_help = true)]
    pub max_norm: f32,
    /// Of matrix products; bf16: faster on CPUs with AMX or AVX-512 BF16
    #[arg(long, value_name = "PRECISION", value_enum, default_value = "f32", hide_short_help = true)]
    pub precision: PrecisionName,
    /// Seed of weights, order and dropout
    #[arg(long, value_name = "N", value_parser = whole, default_value = "1", hide_short_help = true)]
    pub seed: u64,
    /// Ignore columns of --pairs and --dev after the second
    #[arg(long, hide_short_help = true)]
    pub ignore_columns: bool,
}

/// Tests and checkpoints on the way.
#[derive(clap::Args)]
pub struct Tests {
    /// The better model has the lower dev loss, or the higher BLEU
    #[arg(long, value_name = "GOAL", value_enum, default_value = "loss", hide_short_help = true)]
    pub goal: GoalName,
    /// Steps between tests, in tens [default: an epoch, 50 to 1000]
    #[arg(long, value_name = "N", value_parser = whole, hide_short_help = true)]
    pub test_steps: Option<u64>,
    /// Dev pairs to translate for BLEU at every test; 0: none
    #[arg(long, value_name = "N", value_parser = count, default_value = "100", hide_short_help = true)]
    pub bleu_pairs: usize,
    /// Minutes between checkpoints
    #[arg(long, value_name = "N", default_value = "5", hide_short_help = true)]
    pub save_minutes: f64,
    /// Number of checkpoints to keep
    #[arg(long, value_name = "N", value_parser = count, default_value = "3", hide_short_help = true)]
    pub keep: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum GoalName {
    Loss,
    Bleu,
}

impl GoalName {
    fn goal(self) -> Goal {
        match self {
            Self::Loss => Goal::Loss,
            Self::Bleu => Goal::Bleu,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum PrecisionName {
    F32,
    Bf16,
}

impl PrecisionName {
    pub fn products(self) -> Products {
        match self {
            Self::F32 => Products::F32,
            Self::Bf16 => Products::Bf16,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
        }
    }
}

impl Arguments {
    /// The options of the library's training.
    pub fn options(&self) -> Options {
        let Self { examples, numbers, tests, .. } = self;
        let pairs = self.pairs.0.iter().flat_map(|files| PairSource::of_files(files)).collect();
        Options {
            dev: PairSource::of_files(&self.dev),
            resume: self.resume,
            model: self.model.clone(),
            config: self.config.clone().map(Config::Named),
            vocabulary: self.vocabulary,
            attention: self.attention.clone(),
            from: self.from.clone(),
            to: self.to.clone(),
            max_steps: self.max_steps,
            max_minutes: self.max_minutes,
            patience: self.patience,
            freeze: self.freeze.clone(),
            train_only: self.train_only.clone(),
            examples: session::ExampleOptions {
                tags: examples.tags.clone(),
                ignore_columns: numbers.ignore_columns,
                swap: examples.swap,
                substitute: examples.substitute.clone(),
                joined: examples.joined,
                lower_cased: examples.lower_cased,
                unpunctuated: examples.unpunctuated,
            },
            numbers: session::Numbers {
                batch_tokens: numbers.batch_tokens,
                accumulate: numbers.accumulate,
                learning_rate: numbers.learning_rate,
                warmup: numbers.warmup,
                cooldown: numbers.cooldown,
                dropout: numbers.dropout,
                label_smoothing: numbers.label_smoothing,
                weight_decay: numbers.weight_decay,
                max_norm: numbers.max_norm,
                products: numbers.precision.products(),
                seed: numbers.seed,
            },
            tests: session::Tests {
                goal: tests.goal.goal(),
                test_steps: tests.test_steps,
                bleu_pairs: tests.bleu_pairs,
                save_minutes: tests.save_minutes,
                keep: tests.keep,
            },
            command: typed(std::iter::once("wordloom".to_owned()).chain(
                // a path need not be Unicode
                std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()),
            )),
            ..Options::new(pairs, self.out.clone())
        }
    }
}
