//! One batch on the device: the encoder's program and the prompt's, run once, and the decoder's step, replayed.
//!
//! On a GPU greedy and beam search run on the device ([`DeviceSearch`]): several steps go into one submit, and the host
//! follows by a record of them. On the CPU, and where samples are drawn, the host searches between two steps
//! ([`HostSearch`]): the best few candidates of each row come down, and a token and a cache position per row go up.
//!
//! Where more requests wait than there are rows for, the sources of the next are encoded while others are decoded, and take
//! over the rows of sentences that are done.
//!
//! | file | |
//! |---|---|
//! | `key` | the shape of a batch, which a session is made for |
//! | `pool` | sessions of earlier batches, for batches of the same shape |
//! | `states` | buffers |
//! | `build` | a graph for each program |
//! | `run` | a batch, from its sources to its hypotheses |

mod build;
mod key;
mod pool;
mod run;
mod states;

pub use build::Planned;
pub use key::{SessionKey, cache_capacity, padded_length};
pub use pool::IdleSessions;

use super::device_search::DeviceSearch;
use super::host_search::HostSearch;
use super::rows::Rows;
use crate::graph::{self, Session};
use states::SessionStates;

/// The device's half of a batch: buffers and programs, made once, good for every batch of the same shape.
pub struct DecodeSession {
    key: SessionKey,
    /// Memory of its states, bytes.
    bytes: usize,
    session: Session,
    programs: Vec<Program>,
    states: SessionStates,
    rows: Rows,
    search: Search,
}

/// What a session's device can be told to do.
#[derive(Clone, Copy, PartialEq)]
enum Program {
    /// Encodes the batch's sources.
    Encode,
    /// Encodes the sources that come next.
    EncodeNext,
    /// Reads the prompts, but for their last tokens.
    ReadPrompt,
    /// Decodes one token of each row.
    Step,
}

enum Search {
    Host(HostSearch),
    Device(Box<DeviceSearch>),
}

impl DecodeSession {
    /// A program of this session.
    ///
    /// # Panics
    /// When the session was made without it.
    fn program(&self, program: Program) -> graph::Program {
        let index = self.programs.iter().position(|&own| own == program);
        self.session.program(index.expect("the session has this program"))
    }
}
