//! Progress on stderr for work that takes more than half a second; nothing where stderr is no terminal.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const PATIENCE: Duration = Duration::from_millis(500);

pub struct Progress {
    bar: ProgressBar,
    since: Instant,
}

impl Progress {
    /// `unit` is what is counted, e.g. `sentences`.
    pub fn new(what: &'static str, unit: &str) -> Self {
        let template = format!("{{msg}} [{{bar:32}}] {{pos}}/{{len}} {unit}, {{per_sec}}, {{eta}} left");
        Self::with_template(what, &template)
    }

    /// For a fraction of one.
    pub fn percent(what: &'static str) -> Self {
        let progress = Self::with_template(what, "{msg} [{bar:32}] {percent} %");
        progress.bar.set_length(1000);
        progress
    }

    fn with_template(what: &'static str, template: &str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden()).with_message(what);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━━─"));
        }
        Self { bar, since: Instant::now() }
    }

    /// `done` of `total`.
    pub fn set(&self, done: u64, total: u64) {
        if self.bar.is_hidden() && self.since.elapsed() >= PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr()); // draws on terminals only
        }
        self.bar.set_length(total);
        self.bar.set_position(done);
    }

    /// A fraction of one.
    pub fn set_fraction(&self, fraction: f32) {
        self.set((fraction * 1000.0) as u64, 1000);
    }

    /// Runs something that prints, with the bar out of the way.
    pub fn suspend<R>(&self, print: impl FnOnce() -> R) -> R {
        self.bar.suspend(print)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
