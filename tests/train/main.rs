//! Data, vocabularies, schedules and folders of training; no model runs here.

#[path = "../common/mod.rs"]
mod common;

mod augment;
mod average;
mod batches;
mod folder;
mod pairs;
mod schedule;
mod vocabulary;
