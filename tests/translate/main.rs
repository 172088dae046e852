//! Translators: the embedded model, streams, glossaries, several at once.

#[path = "../common/mod.rs"]
mod common;

mod default_model;
mod glossary;
mod in_turn;
mod streaming;
