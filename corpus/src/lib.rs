//! Translates one column of a corpus: files of millions of rows, on one machine.
//!
//! A file is cut into parts of some thousand rows. A part is translated as a whole: each different text once, sorted by length.
//! Then it is written under its final name, and a marker commits it. A run that is killed goes on after its last window of texts;
//! no row is lost or written twice. Memory is bounded by the parts that are being worked on.
//!
//! [`run`] does a [`Job`] with some [`Translate`]rs, which work side by side.

mod aside;
mod convert;
mod error;
mod files;
mod folder;
mod format;
mod job;
mod json;
mod part;
mod read;
mod report;
mod rows;
mod run;
mod store;
mod write;

pub use error::CorpusError;
pub use format::Format;
pub use job::{Job, Progress, Summary, Translate, Translated};
pub use report::Report;
pub use run::run;
