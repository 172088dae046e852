//! Where a GPU's time goes: the launches of each kernel in each program.

use serde::Serialize;
use wordloom::Device;
use wordloom::gpu::{Gpu, KernelTime};

use super::models::Measured;
use super::subject::{Subject, Translation};
use super::timing::{milliseconds, round};
use super::{Steps, Workload, limits};
use crate::CliError;
use crate::output::Output;
use crate::table::{number, percent, table};

#[derive(Serialize)]
pub struct Profile {
    #[serde(flatten)]
    measured: Measured,
    translations: Vec<Profiled>,
}

/// A translation of a batch, launch by launch.
#[derive(Serialize)]
struct Profiled {
    beams: usize,
    batch: usize,
    source: usize,
    tokens: usize,
    kernels: Vec<Line>,
}

/// The launches of one kernel in one program.
#[derive(Serialize)]
pub struct Line {
    program: String,
    kernel: &'static str,
    launches: f64,
    ms: f64,
    /// Of all programs' time on the device.
    share: f64,
}

impl Profile {
    pub fn measure(subject: &Subject, workload: &Workload) -> Result<Self, CliError> {
        let device = subject.device();
        let gpu = gpu_of(&device)?;
        let Workload { beams, batch, source, tokens, .. } = workload;
        let mut steps = Steps::new(tokens.len() * beams.len() * batch.len());
        limits::warm_up(&device)?;
        let mut translations = Vec::new();
        for &batch in batch {
            for &beams in beams {
                for &tokens in tokens {
                    let size = Translation { batch, beams, source: *source, tokens };
                    let run = subject.translation(size)?;
                    run()?; // compiles
                    let kernels = kernels(gpu, 1, run)?;
                    translations.push(Profiled { beams, batch, source: *source, tokens, kernels });
                    steps.step();
                }
            }
        }
        Ok(Self { measured: Measured::new(subject), translations })
    }

    pub fn text(&self, output: &mut Output) -> Result<(), CliError> {
        self.measured.text(output)?;
        for Profiled { beams, batch, source, tokens, kernels } in &self.translations {
            output.line(&format!(
                "\nbeams {beams}, batch {batch}, sources of {source} tokens, translations of {tokens}"
            ))?;
            text(kernels, output)?;
        }
        Ok(())
    }
}

/// The GPU whose time is asked for.
pub fn gpu_of(device: &Device) -> Result<&Gpu, CliError> {
    let message =
        || CliError::Usage("--profile: only a GPU has kernels to time; --device gpu takes one".into());
    device.gpu().map(|gpu| -> &Gpu { gpu }).ok_or_else(message)
}

/// Times the launches of a run, which has `rounds` of the work whose launches and times are wanted. The longest come first.
pub fn kernels(
    gpu: &Gpu,
    rounds: u64,
    run: impl FnOnce() -> Result<(), CliError>,
) -> Result<Vec<Line>, CliError> {
    if !gpu.start_profile()? {
        return Err(CliError::Usage(format!("--profile: `{}` has no clock", gpu.adapter().name())));
    }
    let ran = run();
    let mut times = gpu.take_profile();
    ran?;
    times.sort_by_key(|line| std::cmp::Reverse(line.time));
    let all: f64 = times.iter().map(|line| line.time.as_secs_f64()).sum();
    let line = |KernelTime { program, kernel, launches, time }: KernelTime| Line {
        program,
        kernel,
        launches: round(launches as f64 / rounds as f64),
        ms: round(milliseconds(time) / rounds as f64),
        share: round(time.as_secs_f64() / all.max(f64::MIN_POSITIVE)),
    };
    Ok(times.into_iter().map(line).collect())
}

pub fn text(kernels: &[Line], output: &mut Output) -> Result<(), CliError> {
    let cells = |line: &Line| {
        vec![
            line.program.clone(),
            line.kernel.to_owned(),
            line.launches.to_string(),
            number(line.ms),
            number(1e3 * line.ms / line.launches),
            percent(Some(line.share)),
        ]
    };
    let all: f64 = kernels.iter().map(|line| line.ms).sum();
    let launches: f64 = kernels.iter().map(|line| line.launches).sum();
    let sum = ["all", "", &launches.to_string(), &number(all), "", ""].map(str::to_owned).to_vec();
    let header = ["program", "kernel", "launches", "ms", "µs each", "share"];
    table(output, 2, &header, kernels.iter().map(cells).chain([sum]))
}
