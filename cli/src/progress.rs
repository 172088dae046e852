//! Progress on stderr for work that takes more than half a second, if stderr is a terminal.

use std::cell::Cell;
use std::time::{Duration, Instant};

use indicatif::{DecimalBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::error::one_line;
use super::notice;

const PATIENCE: Duration = Duration::from_millis(500);

/// A bar over the bytes of the input, or a count if these are unknown.
pub struct Progress {
    bar: ProgressBar,
    unit: &'static str,
    /// Bytes of the input, if known.
    total: Option<u64>,
    counted: Cell<u64>,
    lines: Cell<Lines>,
    before: Cell<Duration>,
    since: Cell<Instant>,
    shown: Cell<bool>,
    /// What the first call of [`Progress::set_share`] said.
    before_share: Cell<Option<u64>>,
}

/// Positions of a bar of shares: enough for work of days.
const SHARES: u64 = 1_000_000;

pub struct Done {
    pub units: usize,
    /// Finished part of the round, 0 to 1.
    pub fraction: f64,
    /// Written lines; 0 if not counted.
    pub lines: usize,
}

#[derive(Clone, Copy, Default)]
struct Lines {
    done: usize,
    read: usize,
    bytes: u64,
}

impl Lines {
    /// `12/345 lines`, or with an estimated total `12/~300 lines`.
    fn label(self, total: Option<u64>) -> String {
        let Self { done, read, bytes } = self;
        match total {
            Some(total) if bytes >= total => format!("{done}/{read} lines"),
            Some(total) => {
                let estimate = u128::from(total) * read as u128 / u128::from(bytes.max(1));
                format!("{done}/~{} lines", estimate.max(done as u128))
            }
            None => format!("{done} lines"),
        }
    }
}

impl Progress {
    pub fn new(what: &'static str, unit: &'static str, bytes: Option<u64>) -> Self {
        let template = match bytes {
            Some(_) => "{msg} [{bar:24}] {percent} %, {prefix}, {eta} left",
            None => "{msg}: {prefix}",
        };
        Self::with_template(what, unit, template, bytes)
    }

    /// A bar for [`Progress::set_fraction`].
    pub fn of_fraction(what: &'static str) -> Self {
        Self::with_template(what, "", "{msg} [{bar:24}] {percent} %", Some(1000))
    }

    /// A bar for [`Progress::set_share`], with the time that is left.
    pub fn of_share(what: &'static str, unit: &'static str) -> Self {
        Self::with_template(what, unit, "{msg} [{bar:24}] {percent} %, {prefix}, {eta} left", Some(SHARES))
    }

    fn with_template(what: &'static str, unit: &'static str, template: &str, total: Option<u64>) -> Self {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden()).with_message(what);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━━─"));
        }
        Self {
            bar,
            unit,
            total,
            counted: Cell::default(),
            lines: Cell::default(),
            before: Cell::default(),
            since: Cell::new(Instant::now()),
            shown: Cell::default(),
            before_share: Cell::default(),
        }
    }

    pub fn start_at(&self, bytes: u64, lines: usize) {
        self.bar.set_position(bytes);
        self.bar.reset_eta();
        self.lines.set(Lines { done: lines, read: lines, bytes });
    }

    /// Does one round of work, which reports finished units and the total of the round.
    pub fn round<R>(&self, bytes: u64, work: impl FnOnce(&mut dyn FnMut(usize, usize)) -> R) -> R {
        self.round_of_lines(0, bytes, |report| {
            work(&mut |done, total| {
                report(Done { units: done, fraction: done as f64 / total.max(1) as f64, lines: 0 });
            })
        })
    }

    /// As [`Progress::round`], for work that also counts lines.
    pub fn round_of_lines<R>(
        &self,
        lines: usize,
        bytes: u64,
        work: impl FnOnce(&mut dyn FnMut(Done)) -> R,
    ) -> R {
        let (position, counted, before) = (self.bar.position(), self.counted.get(), self.lines.get());
        let read = Lines { read: before.read + lines, bytes: before.bytes + bytes, ..before };
        self.lines.set(Lines { done: before.done + lines, ..read });
        self.since.set(Instant::now());
        let result = work(&mut |done| {
            self.counted.set(counted + done.units as u64);
            let rate = self.counted.get() as f64 / self.worked().as_secs_f64().max(0.001);
            self.bar.set_prefix(match lines {
                0 => format!("{} {}, {rate:.0}/s", self.counted.get(), self.unit),
                _ => {
                    let lines = Lines { done: before.done + done.lines, ..read }.label(self.total);
                    format!("{lines}, {rate:.0} {}/s", self.unit)
                }
            });
            self.set(position + (bytes as f64 * done.fraction) as u64);
        });
        self.before.set(self.worked());
        self.since.set(Instant::now());
        self.bar.set_position(position + bytes);
        if self.total.is_none() {
            self.hide(); // until the next round, which a user may still have to type
        }
        result
    }

    pub fn set_fraction(&self, fraction: f32) {
        self.set((fraction * 1000.0) as u64);
    }

    /// Shows a share of long work, and what is done. The first call says what was done before.
    pub fn set_share(&self, share: f64, done: u64) {
        let position = (share * SHARES as f64) as u64;
        if self.before_share.get().is_none() {
            self.before_share.set(Some(done));
            self.since.set(Instant::now());
            self.bar.set_position(position);
            self.bar.reset_eta();
        }
        let here = done - self.before_share.get().unwrap_or(done).min(done);
        let rate = here as f64 / self.worked().as_secs_f64().max(0.001);
        let rate = if here > 0 { format!(", {rate:.0}/s") } else { String::new() };
        self.bar.set_prefix(format!("{done} {}{rate}", self.unit));
        self.set(position);
    }

    /// Hides the bar while `print` runs.
    pub fn suspend<R>(&self, print: impl FnOnce() -> R) -> R {
        self.bar.suspend(print)
    }

    fn set(&self, position: u64) {
        let waited = if self.total.is_none() { self.since.get().elapsed() } else { self.worked() };
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

/// A bar over the bytes of a download or of a check, if stderr is a terminal; notices in any case.
pub struct Download {
    bar: ProgressBar,
    /// The verb of a notice about what begins; none if the bar alone shows it.
    verb: Option<&'static str>,
}

impl Download {
    pub fn new(what: &'static str, verb: Option<&'static str>) -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden()).with_message(what);
        let template =
            "{msg} [{bar:24}] {decimal_bytes}/{decimal_total_bytes}, {decimal_bytes_per_sec}, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━━─"));
        }
        Self { bar, verb }
    }
}

impl wordloom_hub::Progress for Download {
    fn start(&mut self, name: &str, total: u64, present: u64) {
        if let Some(verb) = self.verb {
            let size = if total == 0 { String::new() } else { format!(", {}", DecimalBytes(total)) };
            let there = if present > total / 100 {
                format!(", {} are here", DecimalBytes(present))
            } else {
                String::new()
            };
            notice(&one_line(&format!("{verb} {name}{size}{there}")));
        }
        self.bar.set_length(total);
        self.bar.set_position(present);
        self.bar.reset_eta();
        self.bar.set_draw_target(ProgressDrawTarget::stderr()); // draws on terminals only
    }

    fn advance(&mut self, bytes: u64) {
        self.bar.inc(bytes);
    }

    fn retreat(&mut self, bytes: u64) {
        self.bar.dec(bytes);
    }

    fn notice(&mut self, line: &str) {
        self.bar.suspend(|| notice(&one_line(line)));
    }

    fn finish(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_estimates_until_the_end_has_been_read() {
        let lines = Lines { done: 10, read: 100, bytes: 2000 };
        assert_eq!(lines.label(None), "10 lines");
        assert_eq!(lines.label(Some(7000)), "10/~350 lines");
        assert_eq!(lines.label(Some(2000)), "10/100 lines");
    }

    #[test]
    fn what_was_done_before_is_counted_but_no_speed() {
        let progress = Progress::new("testing", "sentences", Some(1000));
        progress.start_at(500, 50);
        let mut reported = String::new();
        progress.round_of_lines(10, 100, |report| {
            report(Done { units: 3, fraction: 0.5, lines: 4 });
            reported = progress.bar.prefix();
        });
        assert!(reported.starts_with("54/~100 lines, ") && reported.ends_with(" sentences/s"), "{reported}");
        assert_eq!(progress.bar.position(), 600);
        assert_eq!((progress.lines.get().done, progress.counted.get()), (60, 3));
    }
}
