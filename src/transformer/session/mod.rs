//! One batch on the device: the programs of encoder and prompt run once, the decoder's step is replayed.
//!
//! On a GPU greedy and beam search run on the device ([`DeviceSearch`]): a submit has several steps, and the host
//! follows their record. On the CPU, and for sampling, the host searches between steps ([`HostSearch`]): it reads the
//! best candidates of each row, and writes a token and a cache slot per row.
//!
//! The sources of waiting requests are encoded while others are decoded, and take over the rows of finished sentences.
//! On the CPU, the sources of the first requests are encoded in such groups, too, each at its own length.
//!
//! `key` is the shape of a batch, `states` its buffers, `build` the graph of each program, `run` the run, `encode` its
//! encoder, `pool` the idle sessions.

mod build;
mod encode;
mod key;
mod pool;
mod run;
mod states;

pub use build::Planned;
pub use key::{SessionKey, cache_capacity, column_capacity, padded_length, sees_length};
pub use pool::IdleSessions;

use super::device_search::DeviceSearch;
use super::host_search::HostSearch;
use super::rows::Rows;
use crate::graph::{self, Session};
use states::SessionStates;

/// Buffers and programs for any batch of one shape.
pub struct DecodeSession {
    key: SessionKey,
    bytes: usize,
    session: Session,
    programs: Vec<Program>,
    states: SessionStates,
    rows: Rows,
    search: Search,
}

#[derive(Clone, Copy, PartialEq)]
enum Program {
    Encode,
    /// Encodes a group of sources at a padded length.
    EncodeNext {
        sources: usize,
        length: usize,
    },
    /// Reads the prompts without their last tokens.
    ReadPrompt,
    Step,
}

enum Search {
    Host(Box<HostSearch>),
    Device(Box<DeviceSearch>),
}

impl DecodeSession {
    /// # Panics
    /// If the session was made without it.
    fn program(&self, program: Program) -> graph::Program {
        let index = self.programs.iter().position(|&own| own == program);
        self.session.program(index.expect("the session has this program"))
    }
}
