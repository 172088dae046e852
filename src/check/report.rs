//! The report of a check. It names adapter and driver, and nothing of the user.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use crate::answers::Answer;
use crate::gpu::Gpu;
use crate::kernels::{AdapterClass, PassedOver};
use crate::precision::WeightPrecision;

/// Failed cases that a report shows.
const MOST_SHOWN: usize = 40;

/// What a check of a device found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The version of Wordloom.
    pub version: &'static str,
    /// The device.
    pub device: DeviceLine,
    /// A line for each kernel that was compared.
    pub kernels: Vec<KernelLine>,
    /// A line for each group of cases, weight precision and class of kernels.
    pub groups: Vec<GroupLine>,
    /// Searches, pictures, training.
    pub runs: Vec<RunLine>,
    /// Cases whose answer was wrong, the first of them.
    pub wrong_cases: Vec<String>,
    /// Seconds of the whole check, where there is a clock.
    pub seconds: Option<f64>,
}

/// The adapter, its driver and its limits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceLine {
    /// The driver's name of the adapter.
    pub adapter: String,
    /// `discrete GPU`, `software` or another.
    pub kind: &'static str,
    /// Class whose kernels it gets.
    pub class: &'static str,
    /// API, such as `vulkan`.
    pub backend: &'static str,
    /// Name and version of the driver, if known.
    pub driver: String,
    /// Names of limits, what the adapter offers, and what the device was opened with.
    pub limits: Vec<(&'static str, u64, u64)>,
}

/// A kernel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelLine {
    /// Name.
    pub kernel: String,
    /// Cases that launch it.
    pub cases: usize,
    /// Cases of them whose answer is wrong.
    pub wrong: usize,
    /// Cases of them that did not repeat their bits.
    pub unsteady: usize,
    /// The largest difference of right cases from the CPU's answer, in parts of the tolerance.
    pub difference: f32,
    /// Milliseconds of the timed cases, each the shortest of several runs.
    pub milliseconds: Vec<(String, f64)>,
    /// What follows.
    pub verdict: Verdict,
}

/// What follows for a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It is used.
    Right,
    /// It never runs on this device.
    Wrong,
    /// It runs only if no other kernel can.
    Slow,
}

/// A group of cases with one precision and one class of kernels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupLine {
    /// Name of the group.
    pub group: &'static str,
    /// Storage of weights.
    pub weights: &'static str,
    /// Class of the kernels.
    pub class: &'static str,
    /// Number of cases.
    pub cases: usize,
    /// Number of wrong ones.
    pub wrong: usize,
    /// Seconds on the device, with compiling, where there is a clock.
    pub seconds: Option<f64>,
}

/// A run of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunLine {
    /// Name.
    pub name: String,
    /// The result.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase", tag = "outcome")]
pub enum Outcome {
    /// The same as on the CPU, twice.
    Right,
    /// Another result.
    Wrong {
        /// The difference.
        about: String,
    },
    /// A kernel that it needs is wrong, and has no substitute: the device refuses such runs.
    Refused {
        /// The kernel.
        kernel: String,
    },
}

impl Outcome {
    fn text(&self) -> String {
        match self {
            Self::Right => "right".into(),
            Self::Wrong { about } => format!("wrong: {about}"),
            Self::Refused { kernel } => format!("refused: it needs {kernel}"),
        }
    }
}

impl Report {
    /// A report without results.
    pub(super) fn of(gpu: &Gpu) -> Self {
        let adapter = gpu.adapter();
        let (offered, opened) = (adapter.limits(), gpu.limits());
        let limit = |name, of: fn(&wgpu::Limits) -> u64| (name, of(&offered), of(opened));
        let limits = vec![
            limit("max_buffer_size", |it| it.max_buffer_size),
            limit("max_storage_buffer_binding_size", |it| it.max_storage_buffer_binding_size),
            limit("max_storage_buffers_per_shader_stage", |it| {
                it.max_storage_buffers_per_shader_stage.into()
            }),
            limit("max_compute_workgroup_storage_size", |it| it.max_compute_workgroup_storage_size.into()),
            limit("max_compute_invocations_per_workgroup", |it| {
                it.max_compute_invocations_per_workgroup.into()
            }),
            limit("max_compute_workgroups_per_dimension", |it| {
                it.max_compute_workgroups_per_dimension.into()
            }),
        ];
        Self {
            version: env!("CARGO_PKG_VERSION"),
            device: DeviceLine {
                adapter: adapter.name().to_owned(),
                kind: adapter.kind(),
                class: gpu.class().name(),
                backend: adapter.backend(),
                driver: adapter.driver(),
                limits,
            },
            kernels: Vec::new(),
            groups: Vec::new(),
            runs: Vec::new(),
            wrong_cases: Vec::new(),
            seconds: None,
        }
    }

    pub(super) fn add_group(
        &mut self,
        group: &'static str,
        precision: WeightPrecision,
        class: AdapterClass,
        answers: &[Answer],
        seconds: Option<f64>,
    ) {
        let wrong: Vec<&Answer> = answers.iter().filter(|answer| !answer.is_right()).collect();
        for answer in wrong.iter().take(MOST_SHOWN.saturating_sub(self.wrong_cases.len())) {
            let how = match answer.repeats {
                true => format!("{} times the tolerance", answer.difference),
                false => "not the same twice".to_owned(),
            };
            let (case, kernels) = (&answer.case, answer.kernels.join(", "));
            self.wrong_cases
                .push(format!("{case}, weights {precision}, {}: {how} ({kernels})", class.name()));
        }
        self.groups.push(GroupLine {
            group,
            weights: precision.name(),
            class: class.name(),
            cases: answers.len(),
            wrong: wrong.len(),
            seconds,
        });
    }

    /// Adds a line for each kernel: those of the answers, and those that are passed over for other reasons.
    pub(super) fn add_kernels(&mut self, answers: &[Answer], passed_over: &PassedOver) {
        let mut of: BTreeMap<&str, Vec<&Answer>> = BTreeMap::new();
        for answer in answers {
            answer.kernels.iter().for_each(|kernel| of.entry(kernel).or_default().push(answer));
        }
        let PassedOver { wrong, slow, .. } = passed_over;
        for kernel in wrong.iter().chain(slow) {
            of.entry(kernel).or_default();
        }
        self.kernels = of.into_iter().map(|(kernel, answers)| line(kernel, &answers, passed_over)).collect();
    }

    /// Whether every kernel and every run was right.
    pub fn is_right(&self) -> bool {
        self.kernels.iter().all(|line| line.verdict != Verdict::Wrong)
            && self.runs.iter().all(|line| line.outcome == Outcome::Right)
    }

    /// Whether the device can be used: every run is right, perhaps with other kernels.
    pub fn is_usable(&self) -> bool {
        self.runs.iter().all(|line| line.outcome == Outcome::Right)
    }

    /// One sentence for a user.
    pub fn summary(&self) -> String {
        let adapter = &self.device.adapter;
        let passed: Vec<&KernelLine> =
            self.kernels.iter().filter(|line| line.verdict != Verdict::Right).collect();
        let names = || passed.iter().map(|line| line.kernel.as_str()).collect::<Vec<_>>().join(", ");
        match (self.is_usable(), passed.len()) {
            (true, 0) => format!("`{adapter}` computes everything as the CPU does"),
            (true, _) => format!("`{adapter}` is used without these kernels: {}", names()),
            (false, _) => {
                format!("`{adapter}` computes wrong numbers that no other kernel avoids; use `--device cpu`")
            }
        }
    }

    /// The report as JSON.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_else(|error| unreachable!("text and numbers: {error}"))
    }

    /// The report as Markdown, to attach to a bug report.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        let DeviceLine { adapter, kind, class, backend, driver, limits } = &self.device;
        let lines = [
            format!("# Wordloom {}: check of a device\n", self.version),
            format!("{}\n", self.summary()),
            "| | |\n|---|---|".into(),
            format!("| adapter | {} |", cell(adapter)),
            format!("| kind | {kind}, kernels for {class} |"),
            format!("| API | {backend} |"),
            format!("| driver | {} |", cell(driver)),
            format!("| seconds | {} |", self.seconds.map_or("–".into(), |seconds| format!("{seconds:.1}"))),
            "\n## Runs\n\n| run | result |\n|---|---|".into(),
        ];
        lines.iter().for_each(|line| push(&mut text, line));
        self.runs
            .iter()
            .for_each(|run| push(&mut text, &format!("| {} | {} |", run.name, cell(&run.outcome.text()))));
        push(
            &mut text,
            "\n## Kernels\n\n| kernel | cases | wrong | not repeated | largest difference | verdict |\n|---|---|---|---|---|---|",
        );
        for line in &self.kernels {
            let KernelLine { kernel, cases, wrong, unsteady, difference, verdict, .. } = line;
            push(
                &mut text,
                &format!("| {kernel} | {cases} | {wrong} | {unsteady} | {difference:.3} | {verdict:?} |")
                    .to_lowercase(),
            );
        }
        push(
            &mut text,
            "\nDifferences are in parts of the tolerance.\n\n## Times\n\n| kernel | case | ms |\n|---|---|---|",
        );
        for line in &self.kernels {
            for (case, time) in &line.milliseconds {
                push(&mut text, &format!("| {} | {case} | {time:.3} |", line.kernel));
            }
        }
        push(&mut text, "\n## Limits\n\n| limit | offered | opened with |\n|---|---|---|");
        limits.iter().for_each(|(name, offered, opened)| {
            push(&mut text, &format!("| {name} | {offered} | {opened} |"))
        });
        if !self.wrong_cases.is_empty() {
            push(&mut text, "\n## Wrong cases\n");
            self.wrong_cases.iter().for_each(|case| push(&mut text, &format!("* {}", cell(case))));
        }
        text
    }
}

fn line(kernel: &str, answers: &[&Answer], passed_over: &PassedOver) -> KernelLine {
    let right = answers.iter().filter(|answer| answer.is_right());
    let timed = answers
        .iter()
        .filter_map(|answer| Some((format!("{}, {}", answer.case, answer.precision), answer.milliseconds?)));
    KernelLine {
        kernel: kernel.to_owned(),
        cases: answers.len(),
        wrong: answers.iter().filter(|answer| !answer.is_right()).count(),
        unsteady: answers.iter().filter(|answer| !answer.repeats).count(),
        difference: right.map(|answer| answer.difference).fold(0.0, f32::max),
        milliseconds: timed.collect(),
        verdict: if passed_over.wrong.contains(kernel) {
            Verdict::Wrong
        } else if passed_over.slow.contains(kernel) {
            Verdict::Slow
        } else {
            Verdict::Right
        },
    }
}

fn push(text: &mut String, line: &str) {
    let _ = writeln!(text, "{line}"); // a string takes every line
}

/// Text in a cell of a table: a driver's name may have anything in it.
fn cell(text: &str) -> String {
    let plain = text.replace(|c: char| c.is_control(), " ");
    plain.replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;").replace('`', "'")
}
