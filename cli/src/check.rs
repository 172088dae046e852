//! `wordloom check`

use std::path::PathBuf;
use std::sync::Arc;

use wordloom::check::{self, CheckError, KernelLine, Outcome, Report, RunLine, Verdict};
use wordloom::gpu::{Extent, Gpu};
use wordloom::kernels::PassedOver;
use wordloom::{Device, DeviceChoice, GpuError};

use super::CliError;
use super::output::Output;
use super::progress::Progress;
use super::setup::open_device;
use super::table::table;

#[derive(clap::Args)]
pub struct Arguments {
    /// auto, gpu, or a GPU's name
    #[arg(long, value_name = "DEVICE", default_value = "gpu")]
    device: DeviceChoice,
    /// Check again, although a result is stored
    #[arg(long)]
    recheck: bool,
    /// Write the report as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the report, to attach to an issue
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let Device::Gpu(gpu) = open_device(&arguments.device)? else {
        return Err(CliError::Usage(
            "a check compares a GPU with the CPU; `--device gpu` takes software adapters, too".into(),
        ));
    };
    let reports = arguments.json.is_some() || arguments.markdown.is_some();
    let stored = gpu.verdict();
    if stored.extent == Extent::Full && !arguments.recheck && !reports {
        return show_stored(&gpu, &stored.passed_over);
    }
    let report = checked(&gpu)?;
    gpu.store_pipelines();
    for (path, text) in [(&arguments.json, report.json()), (&arguments.markdown, report.markdown())] {
        if let Some(path) = path {
            let mut output = Output::open(Some(path))?;
            output.line(text.trim_end())?;
            output.flush()?;
        }
    }
    show(&report)?;
    refuse_unusable(&gpu, &report.runs)
}

fn checked(gpu: &Arc<Gpu>) -> Result<Report, CliError> {
    let bar = Progress::of_fraction("checking");
    let mut progress = |fraction: f32, _: &'static str| bar.set_fraction(fraction);
    let report = pollster::block_on(check::check(gpu, &mut progress));
    report.map_err(|error| match error {
        CheckError::Gpu(error) => error.into(),
        CheckError::Model(error) => error.into(),
    })
}

fn show(report: &Report) -> Result<(), CliError> {
    let mut output = Output::open(None)?;
    let verdict = |line: &KernelLine| match line.verdict {
        Verdict::Right => "right",
        Verdict::Wrong => "WRONG",
        Verdict::Slow => "slow",
    };
    let cell = |line: &KernelLine| {
        let times = line.milliseconds.iter().map(|(_, time)| time);
        let time = times
            .copied()
            .fold(None, |most: Option<f64>, time| Some(most.map_or(time, |most| most.max(time))));
        vec![
            line.kernel.clone(),
            verdict(line).to_owned(),
            line.cases.to_string(),
            line.wrong.to_string(),
            format!("{:.3}", line.difference),
            time.map_or("–".into(), |time| format!("{time:.3}")),
        ]
    };
    let header = ["kernel", "result", "cases", "wrong", "difference", "ms"];
    table(&mut output, 2, &header, report.kernels.iter().map(cell))?;
    output.line("")?;
    for RunLine { name, outcome } in &report.runs {
        output.line(&match outcome {
            Outcome::Right => format!("{name}: right"),
            Outcome::Wrong { about } => format!("{name}: WRONG, {about}"),
            Outcome::Refused { kernel } => format!("{name}: REFUSED, it needs {kernel}"),
        })?;
    }
    output.line("")?;
    let seconds = report.seconds.map_or(String::new(), |seconds| format!(" ({seconds:.1} s)"));
    output.line(&format!("{}{seconds}", report.summary()))?;
    output.flush()
}

fn show_stored(gpu: &Gpu, passed_over: &PassedOver) -> Result<(), CliError> {
    let mut output = Output::open(None)?;
    let PassedOver { wrong, slow, .. } = passed_over;
    let adapter = gpu.adapter().name();
    let again = "`--recheck` checks it again";
    if passed_over.is_empty() {
        output.line(&format!("`{adapter}` was checked before, and every kernel was right; {again}"))?;
    } else {
        output.line(&format!("`{adapter}` was checked before; {again}. Kernels that it does not get:"))?;
        for (what, names) in [("wrong", wrong), ("slow", slow)] {
            names.iter().try_for_each(|name| output.line(&format!("    {name} ({what})")))?;
        }
    }
    output.flush()
}

/// A device on which some run has no right kernels is a failure of the command.
fn refuse_unusable(gpu: &Gpu, runs: &[RunLine]) -> Result<(), CliError> {
    let failed = runs.iter().find_map(|run| match &run.outcome {
        Outcome::Right => None,
        Outcome::Refused { kernel } => Some(kernel.clone()),
        Outcome::Wrong { .. } => Some(run.name.clone()),
    });
    let adapter = gpu.adapter().name().to_owned();
    failed.map_or(Ok(()), |kernel| Err(GpuError::WrongKernel { adapter, kernel }.into()))
}
