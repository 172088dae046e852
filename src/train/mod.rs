//! Training: data, vocabulary, schedule, and the folder of a new model.
//!
//! | file | |
//! |---|---|
//! | [`pairs`] | sentence pairs from files; pairs of a dev set that the training data has, too |
//! | [`vocabulary`] | a SentencePiece model and `vocab.json` from text |
//! | [`batches`] | packed batches in an order by seed |
//! | [`schedule`], [`stopping`] | learning rate; early stopping |
//! | [`new_model`], [`initial_weights`] | shape and first weights of a model |
//! | [`folder`], [`card`], [`write`] | a Marian folder, written so that a failure keeps the old one |
//! | [`average`] | mean of several checkpoints |
//!
//! Files are read and written natively only; everything else takes readers and bytes, so it also runs in a browser.

pub mod average;
pub mod batches;
pub mod card;
pub mod folder;
pub mod initial_weights;
pub mod new_model;
pub mod pairs;
pub mod schedule;
pub mod stopping;
pub mod vocabulary;
#[cfg(not(target_arch = "wasm32"))]
pub mod write;
