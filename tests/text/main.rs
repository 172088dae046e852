//! Tokenizers against the libraries that they follow, id by id; sentences.

#[path = "../common/files.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod files;

mod families;
mod json;
mod marian;
mod sentencepiece;
mod sentences;
