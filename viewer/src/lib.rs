//! The attention of a [`Trace`](wordloom::trace::Trace) as one HTML file: no network, no script from the data, usable with a
//! keyboard. `wordloom attend --output x.html` writes it, and notebooks show it.

mod labels;
mod page;
mod search;
mod statistics;

pub use labels::{harmless, name};
pub use page::page;
pub use statistics::head;
