//! A training from pairs to a folder, as `wordloom train` and the Python package do it.
//!
//! | file | |
//! |---|---|
//! | [`Options`] | all options, under the command's names |
//! | [`Preparation`] | checks the options, reads the pairs, makes the model |
//! | [`Session`] | takes the steps; writes the best model, the log and checkpoints |
//! | [`Observer`] | hears of it |
//! | [`Corpus`], [`Encoder`], [`Dev`] | pairs as text, as ids, and for tests |
//!
//! ```no_run
//! use wordloom::Device;
//! use wordloom::train::session::{Event, Facts, History, Observer, Options, PairSource, Preparation, SessionError};
//! use wordloom::transformer::Cancel;
//!
//! struct Printer;
//!
//! impl Observer for Printer {
//!     fn line(&mut self, line: &str) {
//!         println!("{line}");
//!     }
//!
//!     fn event(&mut self, event: &Event, _: &History, _: &Facts) {
//!         println!("{event:?}");
//!     }
//! }
//!
//! # fn main() -> Result<(), SessionError> {
//! let options = Options::new(vec![PairSource::File("train.tsv.gz".into())], "my-model".into());
//! let preparation = Preparation::new(options, &mut Printer)?;
//! let session = preparation.begin(None, Device::Cpu, Cancel::default(), &mut Printer)?;
//! let outcome = pollster::block_on(session.train(&mut Printer))?;
//! println!("{} steps", outcome.steps);
//! # Ok(())
//! # }
//! ```

mod checkpoints;
mod corpus;
mod course;
mod defaults;
mod dev;
mod encoder;
mod error;
mod examples;
mod hash;
mod history;
mod observer;
mod options;
mod pace;
mod preparation;
mod start;

pub use corpus::Corpus;
pub use course::{Ending, Outcome, Session};
pub use dev::Dev;
pub use encoder::{Encoded, Encoder};
pub use error::SessionError;
pub use history::{Event, History, StepsEvent, TestEvent};
pub use observer::{Facts, Observer};
pub use options::{Config, ExampleOptions, Numbers, Options, PairSource, Tests};
pub use preparation::Preparation;
pub use start::companions;
