//! Wordloom runs encoder–decoder Transformers ("Attention Is All You Need", Vaswani et al. 2017) on any GPU through
//! WebGPU's portable subset, natively or in a browser, and shows every attention map of a run.
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
//! `examples/` has five short programs.
//!
//! # Modules
//!
//! | module | |
//! |---|---|
//! | [`check`] | every kernel of a device against the CPU runner |
//! | [`explain`] | one attention, number by number |
//! | [`trace`] | the record of a translation: attention, statistics, word alignment, files |
//! | [`train`] | training: data, vocabulary, gradients, optimizer, runs, the folder of a new model |
//! | [`translate`] | text in, text out |
//! | [`transformer`] | a model on a device: token ids in, token ids or tensors out |
//! | [`heatmap`] | attention maps as pixels |
//! | [`model`] | a Hugging Face folder: configuration, weights, tokenizer |
//! | [`ops`] | the operators of the Transformer |
//! | [`graph`] | computations made of operators, on any device |
//! | [`device`] | GPU or CPU |
//! | [`decode`] | options and results of searches |
//! | [`text`] | SentencePiece, the tokenizers of every family, sentences |
//! | [`evaluate`] | BLEU and chrF of translations |
//! | [`precision`] | storage formats of weights |
//!
//! A module uses only modules below it. `docs/architecture.md` in the repository gives the reasons.

#![cfg_attr(
    target_arch = "wasm32",
    allow(clippy::arc_with_non_send_sync, reason = "natively they cross threads")
)]

#[cfg(feature = "check")]
pub mod check;
pub mod decode;
pub mod device;
pub mod evaluate;
pub mod explain;
pub mod graph;
pub mod heatmap;
pub mod model;
pub mod ops;
pub mod precision;
pub mod text;
pub mod trace;
#[cfg(feature = "training")]
pub mod train;
pub mod transformer;
pub mod translate;

// Modules for our own programs, tests and benchmarks. No release keeps them stable.
#[doc(hidden)]
pub mod activation;
#[doc(hidden)]
pub mod answers;
#[doc(hidden)]
pub mod cpu;
#[doc(hidden)]
pub mod gpu;
#[doc(hidden)]
pub mod join;
#[doc(hidden)]
pub mod json_problem;
#[doc(hidden)]
pub mod kernels;
#[doc(hidden)]
pub mod readable;
#[doc(hidden)]
pub mod scores;
#[doc(hidden)]
pub mod shape;
mod sorting;

pub use device::{Device, DeviceChoice};
#[doc(inline)]
pub use gpu::GpuError;
pub use model::{Model, ModelError};
pub use precision::WeightPrecision;
pub use text::TextError;
pub use transformer::{Transformer, resolve};
pub use translate::{TranslateError, TranslateOptions, Translation, Translator};

/// Compiles the examples of the README.
#[cfg(all(doctest, feature = "embedded-model"))]
#[doc = include_str!("../README.md")]
struct Readme;
