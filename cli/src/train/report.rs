//! What a user sees of a training: the line of progress, a line for each test, and curves.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use wordloom::train::session::{Event, Facts, History, Observer, StepsEvent, TestEvent};
use wordloom::train::write::write_file;

use super::page::{self, time_left};
use super::plot;
use crate::notice;

pub const PAGE: &str = "train.html";
/// Shortest time between two pages.
const PAGE_PAUSE: Duration = Duration::from_secs(5);
/// Time between two plots in the terminal.
const PLOT_PAUSE: Duration = Duration::from_secs(120);
/// Columns of a plot if the terminal does not tell its width.
const COLUMNS: usize = 80;
/// Units of the bar.
const UNITS: f64 = 1000.0;

pub struct Report {
    bar: ProgressBar,
    page: PathBuf,
    paged: Option<Instant>,
    plotted: Instant,
    is_terminal: bool,
    last_test: Option<TestEvent>,
    can_page: bool,
}

impl Report {
    pub fn new(out: &Path) -> Self {
        let bar = ProgressBar::with_draw_target(Some(UNITS as u64), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("training [{bar:20}] {percent} %, {msg}") {
            bar.set_style(style.progress_chars("━━─"));
        }
        Self {
            bar,
            page: out.join(PAGE),
            paged: None,
            plotted: Instant::now(),
            is_terminal: console::Term::stderr().is_term(),
            last_test: None,
            can_page: true,
        }
    }

    /// Shows the numbers of some steps.
    fn steps(&mut self, steps: &StepsEvent, facts: &Facts) {
        let mut line = format!("step {}, loss {:.2}", steps.step, steps.loss);
        if let Some(test) = &self.last_test {
            line += &format!(", dev {:.2}", test.loss);
            line += &test.bleu.map(|bleu| format!(", BLEU {bleu:.1}")).unwrap_or_default();
        }
        line += &format!(
            ", {:.0} tokens/s, rate {:.1e}, {} left",
            steps.tokens_per_second,
            steps.learning_rate,
            time_left(facts)
        );
        self.bar.set_message(line);
        self.bar.set_position((facts.progress * UNITS) as u64);
    }

    /// Writes a line for a test.
    fn test(&mut self, test: &TestEvent, steps: Option<&StepsEvent>, facts: &Facts) {
        self.last_test = Some(*test);
        let mut line = format!("step {}", test.step);
        if let Some(steps) = steps {
            line += &format!(", epoch {:.1}, loss {:.3}", steps.epoch, steps.loss);
        }
        line += &format!(", dev loss {:.3}", test.loss);
        line += &test.bleu.map(|bleu| format!(", BLEU {bleu:.1}")).unwrap_or_default();
        line += if test.best { " (best)" } else { "" };
        if let Some(steps) = steps {
            line += &format!(", {:.0} tokens/s, {} left", steps.tokens_per_second, time_left(facts));
        }
        self.line(&line);
    }

    /// Draws the curves if it is time.
    fn curves(&mut self, history: &History, facts: &Facts) {
        if self.paged.is_none_or(|paged| paged.elapsed() >= PAGE_PAUSE) {
            self.write_page(history, facts, None);
        }
        if self.is_terminal && self.plotted.elapsed() >= PLOT_PAUSE {
            self.plot(history);
        }
    }

    fn plot(&mut self, history: &History) {
        let columns = console::Term::stderr().size_checked().map_or(COLUMNS, |(_, columns)| columns.into());
        for row in plot::rows(history, columns) {
            self.line(&row);
        }
        self.plotted = Instant::now();
    }

    /// A page that cannot be written does not end a training. The user hears of it once.
    fn write_page(&mut self, history: &History, facts: &Facts, end: Option<&str>) {
        self.paged = Some(Instant::now());
        if let Err(error) = write_file(&self.page, page::page(history, facts, end).as_bytes())
            && std::mem::take(&mut self.can_page)
        {
            self.line(&format!("warning: {error}"));
        }
    }

    /// Draws the last curves.
    fn finish(&mut self, history: &History, facts: &Facts, end: &str) {
        self.write_page(history, facts, Some(end));
        self.bar.finish_and_clear();
        if self.is_terminal {
            self.plot(history);
        }
    }
}

impl Observer for Report {
    /// A line above the bar.
    fn line(&mut self, line: &str) {
        self.bar.suspend(|| notice(line));
    }

    fn event(&mut self, event: &Event, history: &History, facts: &Facts) {
        match event {
            Event::Start { step, .. } => {
                self.bar.set_draw_target(ProgressDrawTarget::stderr());
                // some steps pass before their numbers come
                self.bar.set_message(format!("step {step}"));
                self.bar.set_position((facts.progress * UNITS) as u64);
            }
            Event::Checkpoint { .. } => {}
            Event::Steps(steps) => {
                self.steps(steps, facts);
                self.curves(history, facts);
            }
            Event::Test(test) => {
                self.test(test, history.steps.last(), facts);
                self.curves(history, facts);
            }
            Event::End { reason, .. } => self.finish(history, facts, reason),
        }
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
