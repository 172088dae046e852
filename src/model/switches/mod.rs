//! Switches: a model without some of its parts, to see what they are for.
//!
//! `place` has the places of a model that can be switched, `settings` their values as text, `over` a model's blueprint
//! with them, `error` what can be wrong.

mod error;
mod over;
mod place;
mod settings;

pub use error::SwitchError;
pub(crate) use over::{Switched, mute_head};
pub use settings::Switches;
