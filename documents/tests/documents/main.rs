//! The crate's tests are one program: each is linked with all that the crate uses.

mod common;
mod document_mutants;
mod generated;
mod html_elements;
mod markup;
mod memory;
mod messages;
mod packages;
mod text_formats;
mod word;
