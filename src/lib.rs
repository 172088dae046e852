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
//! `examples/` has five short programs: a translation, one that is shown while it is made, several with their attention,
//! generation from token ids, and a graph with an operator of its own.
//!
//! # The house, from the roof down
//!
//! | module | |
//! |---|---|
//! | [`trace`] | what a translation leaves to be looked at: attention, statistics, word alignment, files |
//! | [`translate`] | text in, text out |
//! | [`transformer`] | a model on a device: token ids in, token ids or tensors out |
//! | [`heatmap`] | attention maps as pixels |
//! | [`model`] | a Hugging Face folder: configuration, weights, tokenizer |
//! | [`ops`] | the operators of the Transformer |
//! | [`graph`] | computations of operators, the Transformer's or one's own, on any device |
//! | [`device`] | where a model runs |
//! | [`decode`] | options and results of searches |
//! | [`text`] | SentencePiece, the tokenizers of every family, sentences |
//! | [`evaluate`] | BLEU and chrF of translations |
//! | [`precision`] | how weights are stored |
//!
//! Modules use those below them. `docs/architecture.md` in the repository says why the house is built this way.

#![cfg_attr(
    target_arch = "wasm32",
    allow(clippy::arc_with_non_send_sync, reason = "natively they cross threads")
)]

pub mod decode;
pub mod device;
pub mod evaluate;
pub mod graph;
pub mod heatmap;
pub mod model;
pub mod ops;
pub mod precision;
pub mod text;
pub mod trace;
pub mod transformer;
pub mod translate;

// What tests and benchmarks use besides. No release promises anything about these modules.
#[doc(hidden)]
pub mod activation;
#[doc(hidden)]
pub mod cpu;
#[doc(hidden)]
pub mod gpu;
#[doc(hidden)]
pub mod join;
#[doc(hidden)]
pub mod kernels;
#[doc(hidden)]
pub mod scores;
#[doc(hidden)]
pub mod shape;

pub use device::{Device, DeviceChoice};
#[doc(inline)]
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
