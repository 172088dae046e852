//! Repeated runs: wall time, and processor time of all threads.

use std::time::{Duration, Instant};

use cpu_time::ProcessTime;

use crate::CliError;

/// Time after which three runs are enough.
const BUDGET: Duration = Duration::from_secs(15);
const FEWEST: usize = 3;

#[derive(Default)]
pub struct Samples {
    wall: Vec<f64>,
    cpu: Vec<f64>,
}

impl Samples {
    /// Runs once to warm up, then up to `repeats` times.
    pub fn of(repeats: usize, mut run: impl FnMut() -> Result<(), CliError>) -> Result<Self, CliError> {
        run()?;
        let mut samples = Self::default();
        let start = Instant::now();
        for done in 1..=repeats {
            samples.add(&mut run)?;
            if done >= FEWEST && start.elapsed() > BUDGET {
                break;
            }
        }
        Ok(samples)
    }

    pub fn add(&mut self, run: impl FnOnce() -> Result<(), CliError>) -> Result<(), CliError> {
        let cpu = ProcessTime::try_now();
        let wall = Instant::now();
        run()?;
        self.wall.push(milliseconds(wall.elapsed()));
        // some systems do not report it
        if let Some(spent) = cpu.ok().and_then(|before| before.try_elapsed().ok()) {
            self.cpu.push(milliseconds(spent));
        }
        Ok(())
    }

    pub fn summary(&self) -> Summary {
        Summary {
            ms: round(median(&self.wall).unwrap_or(0.0)),
            ms_min: round(self.wall.iter().copied().fold(f64::INFINITY, f64::min)),
            cpu_ms: median(&self.cpu).map(round),
            repeats: self.wall.len(),
        }
    }
}

#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Summary {
    pub ms: f64,
    pub ms_min: f64,
    /// Median of the processor times of all threads.
    pub cpu_ms: Option<f64>,
    pub repeats: usize,
}

pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Rounds to four decimals, because more have no meaning.
pub fn round(milliseconds: f64) -> f64 {
    (milliseconds * 1e4).round() / 1e4
}

pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        length if length.is_multiple_of(2) => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
        _ => Some(sorted[middle]),
    }
}
