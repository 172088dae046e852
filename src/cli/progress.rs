//! Progress on stderr for work that takes more than half a second; nothing where stderr is no terminal.

use std::cell::Cell;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const PATIENCE: Duration = Duration::from_millis(500);

/// A bar over the bytes of the input; where nobody knows how many there are, a count of what is done.
pub struct Progress {
    bar: ProgressBar,
    /// What is counted, e.g. `sentences`.
    unit: &'static str,
    endless: bool,
    counted: Cell<u64>,
    /// Time spent in earlier rounds, and the beginning of this one.
    before: Cell<Duration>,
    since: Cell<Instant>,
    shown: Cell<bool>,
}

impl Progress {
    pub fn new(what: &'static str, unit: &'static str, bytes: Option<u64>) -> Self {
        let template = match bytes {
            Some(_) => "{msg} [{bar:24}] {percent} %, {prefix}, {eta} left",
            None => "{msg}: {prefix}",
        };
        Self::with_template(what, unit, template, bytes)
    }

    /// For work whose parts nobody wants to know: `set_fraction` is all that is told.
    pub fn of_fraction(what: &'static str) -> Self {
        Self::with_template(what, "", "{msg} [{bar:24}] {percent} %", Some(1000))
    }

    fn with_template(what: &'static str, unit: &'static str, template: &str, total: Option<u64>) -> Self {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden()).with_message(what);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━━─"));
        }
        Self {
            bar,
            unit,
            endless: total.is_none(),
            counted: Cell::default(),
            before: Cell::default(),
            since: Cell::new(Instant::now()),
            shown: Cell::default(),
        }
    }

    /// Does one round of the work. It tells what it has done so far: bytes since the round's beginning, and units.
    pub fn round<R>(&self, bytes: u64, work: impl FnOnce(&mut dyn FnMut(usize, usize)) -> R) -> R {
        let (position, counted) = (self.bar.position(), self.counted.get());
        self.since.set(Instant::now());
        let result = work(&mut |done, total| {
            self.counted.set(counted + done as u64);
            let rate = self.counted.get() as f64 / self.worked().as_secs_f64().max(0.001);
            self.bar.set_prefix(format!("{} {}, {rate:.0}/s", self.counted.get(), self.unit));
            self.set(position + bytes * done as u64 / total.max(1) as u64);
        });
        self.before.set(self.worked());
        self.since.set(Instant::now());
        self.bar.set_position(position + bytes);
        if self.endless {
            self.hide(); // until the next round, which may have to be typed first
        }
        result
    }

    /// A fraction of one.
    pub fn set_fraction(&self, fraction: f32) {
        self.set((fraction * 1000.0) as u64);
    }

    /// Runs something that prints, with the bar out of the way.
    pub fn suspend<R>(&self, print: impl FnOnce() -> R) -> R {
        self.bar.suspend(print)
    }

    fn set(&self, position: u64) {
        let waited = if self.endless { self.since.get().elapsed() } else { self.worked() };
        if !self.shown.get() && waited >= PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr()); // draws on terminals only
            self.shown.set(true);
        }
        self.bar.set_position(position);
    }

    fn worked(&self) -> Duration {
        self.before.get() + self.since.get().elapsed()
    }

    fn hide(&self) {
        if self.shown.replace(false) {
            self.bar.finish_and_clear();
            self.bar.set_draw_target(ProgressDrawTarget::hidden());
            self.bar.reset();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
