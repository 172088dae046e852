//! What a caller hears of a training.

use super::history::{Event, History};

/// Hears of a training. It is called between steps, so the training waits for it.
pub trait Observer {
    /// A line for the user: what was read, left out, made. Warnings begin with `warning: `.
    fn line(&mut self, line: &str);

    /// An event, after it was written to the log.
    fn event(&mut self, event: &Event, history: &History, facts: &Facts);
}

/// Numbers about a training besides its curves.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Name of the model's folder.
    pub name: String,
    /// Name of the device.
    pub device: String,
    /// Number of weights.
    pub parameters: u64,
    /// Number of training pairs.
    pub pairs: usize,
    /// The command or the call.
    pub command: String,
    /// Used share of the budget, 0 to 1.
    pub progress: f64,
    /// Seconds to the end; `None` before any progress.
    pub seconds_left: Option<f64>,
    /// Tests that may still fail before the training stops; `None` if that never stops it.
    pub patience: Option<usize>,
}
