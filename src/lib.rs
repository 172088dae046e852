//! Wordloom runs encoder–decoder Transformers ("Attention Is All You Need", Vaswani et al. 2017) on any GPU through
//! WebGPU's portable subset, natively or in a browser, and lets every attention map of a run be seen.
//!
//! ```no_run
//! use wordloom::{Device, DeviceChoice, Model, TranslateOptions, Translator};
//!
//! # pollster::block_on(async {
//! let device = Device::open(&DeviceChoice::Auto).await?; // a GPU, else the CPU
//! let model = Model::embedded()?; // or Model::load("path/to/a/hugging/face/folder")
//! let translator = Translator::new(&device, &model)?;
//!
//! let options = TranslateOptions::default().beams(4);
//! let translation = translator.translate("Where is the train station?", &options).await?;
//! println!("{}", translation.text); // Wo ist der Bahnhof?
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # The house, from the roof down
//!
//! | module | |
//! |---|---|
//! | [`heatmap`] | attention maps as pixels |
//! | [`trace`] | what a translation leaves to be looked at: attention, statistics, word alignment, files |
//! | [`translate`] | text in, text out |
//! | [`transformer`] | a model on a device: token ids in, token ids or tensors out |
//! | [`text`] | SentencePiece, Marian's tokenizer, sentences |
//! | [`evaluate`] | BLEU and chrF of translations |
//! | [`decode`] | greedy and beam search, and what edits their scores |
//! | [`model`] | a Hugging Face folder; the Transformer's blocks |
//! | [`ops`] | the operators: shape rule, launches, CPU function |
//! | [`graph`] | nodes → plan → launches → replay |
//! | [`kernels`], [`cpu`] | the operators as WGSL launches, and as plain code |
//! | [`scores`], [`shape`], [`precision`], [`activation`], [`join`] | what both of them and the search speak of |
//! | [`gpu`], [`device`] | adapters, buffers, pipelines; where a model runs |
//!
//! Modules use those below them. `docs/architecture.md` says why the house is built this way.

#![cfg_attr(
    target_arch = "wasm32",
    allow(clippy::arc_with_non_send_sync, reason = "natively they cross threads")
)]

pub mod activation;
pub mod cpu;
pub mod decode;
pub mod device;
pub mod evaluate;
pub mod gpu;
pub mod graph;
pub mod heatmap;
pub mod join;
pub mod kernels;
pub mod model;
pub mod ops;
pub mod precision;
pub mod scores;
pub mod shape;
pub mod text;
pub mod trace;
pub mod transformer;
pub mod translate;

pub use device::{Device, DeviceChoice};
pub use gpu::GpuError;
pub use model::{Model, ModelError};
pub use precision::WeightPrecision;
pub use text::TextError;
pub use transformer::{Transformer, resolve};
pub use translate::{TranslateError, TranslateOptions, Translation, Translator};

/// The examples of the README are tested like those of the documentation.
#[cfg(all(doctest, feature = "embedded-model"))]
#[doc = include_str!("../README.md")]
struct Readme;
