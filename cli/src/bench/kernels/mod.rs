//! `--kernels`: all variants of kernels at the shapes of a model; which is chosen, and which is the fastest.

mod cpu;
mod gpu;

use std::time::Duration;

use serde::Serialize;
use wordloom::model::config::{ModelConfig, StackConfig};
use wordloom::precision::WeightPrecision;

use super::limits::warm_up;
use super::models::Measured;
use super::subject::Subject;
use super::timing::round;
use super::{Steps, show};
use crate::CliError;
use crate::output::Output;
use crate::table::{number, table};

/// Rows of linear layers and norms: a token, a sentence's beams, several sentences, a batch, a long source.
const ROWS: [usize; 6] = [1, 4, 16, 64, 256, 512];
const LENGTHS: [usize; 3] = [32, 128, 512];
/// Rows of a step with cached attention.
const STEP_ROWS: [usize; 4] = [1, 4, 16, 64];
const HISTORY: usize = 128;
/// Bytes of the copies of a layer's weights: too many for a cache, as the weights of a large model between two steps.
const WEIGHT_BYTES: usize = 128 << 20;
/// Longer runs are not repeated, and variants that are expected to be longer are skipped.
const MOST: Duration = Duration::from_secs(2);

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    measured: Measured,
    kernels: Vec<Case>,
}

#[derive(Serialize)]
struct Case {
    #[serde(flatten)]
    shape: Shape,
    variants: Vec<Timing>,
    chosen: Option<&'static str>,
    best: Option<&'static str>,
    /// Time of the chosen variant divided by the best time.
    slower_than_best: Option<f64>,
}

#[derive(Serialize)]
struct Timing {
    variant: &'static str,
    /// Milliseconds; `None` if more than [`MOST`] was expected.
    ms: Option<f64>,
    gflop_per_second: Option<f64>,
    gb_per_second: Option<f64>,
}

/// A shape, as far as it is known before a run.
#[derive(Clone, Copy, Serialize)]
struct Shape {
    operator: &'static str,
    layer: &'static str,
    rows: usize,
    /// Inputs of a linear layer; for attention the keys of a query, and the heads' joint width.
    inputs: usize,
    outputs: usize,
    operations: u64,
    bytes: u64,
}

impl Shape {
    fn linear(
        layer: &'static str,
        rows: usize,
        inputs: usize,
        outputs: usize,
        precision: WeightPrecision,
    ) -> Self {
        let operations = 2 * (rows * inputs * outputs) as u64;
        let bytes = precision.matrix_bytes(outputs, inputs) + 4 * (rows * (inputs + outputs)) as u64;
        Self { operator: "linear", layer, rows, inputs, outputs, operations, bytes }
    }

    /// A linear layer with a norm of its inputs.
    fn normalized_linear(
        layer: &'static str,
        rows: usize,
        inputs: usize,
        outputs: usize,
        precision: WeightPrecision,
    ) -> Self {
        let (norm, linear) =
            (Self::norm(rows, inputs), Self::linear(layer, rows, inputs, outputs, precision));
        let (operations, bytes) = (norm.operations + linear.operations, norm.bytes + linear.bytes);
        Self { operator: "normalized_linear", operations, bytes, ..linear }
    }

    /// The logits with their reduction for the search.
    fn output_layer(rows: usize, inputs: usize, outputs: usize, precision: WeightPrecision) -> Self {
        let linear = Self::linear("logits", rows, inputs, outputs, precision);
        let operations = linear.operations + 2 * (rows * outputs) as u64;
        Self { operator: "output_layer", operations, ..linear }
    }

    fn top_k(rows: usize, vocabulary: usize, candidates: usize) -> Self {
        let elements = (rows * vocabulary) as u64;
        let (operations, bytes) = (2 * elements, 4 * elements);
        let operator = "log_softmax_top_k";
        Self { operator, layer: "best", rows, inputs: vocabulary, outputs: candidates, operations, bytes }
    }

    /// `queries` of `keys` each; `width` is the joint width of all heads.
    fn attention(layer: &'static str, queries: usize, keys: usize, own_keys: bool, width: usize) -> Self {
        let operations = 4 * (queries * keys * width) as u64;
        let rows_of_keys = if own_keys { queries * keys } else { keys };
        let bytes = 4 * (2 * queries * width + 2 * rows_of_keys * width) as u64;
        Self { operator: "attention", layer, rows: queries, inputs: keys, outputs: width, operations, bytes }
    }

    fn norm(rows: usize, width: usize) -> Self {
        let elements = (rows * width) as u64;
        let (operations, bytes) = (8 * elements, 12 * elements);
        Self { operator: "layer_norm", layer: "norm", rows, inputs: width, outputs: width, operations, bytes }
    }

    fn timing(&self, variant: &'static str, seconds: Option<f64>) -> Timing {
        let rate = |amount: u64| seconds.map(|seconds| round(amount as f64 / seconds / 1e9));
        Timing {
            variant,
            ms: seconds.map(|seconds| round(seconds * 1e3)),
            gflop_per_second: rate(self.operations),
            gb_per_second: rate(self.bytes),
        }
    }

    fn case(&self, variants: Vec<Timing>, chosen: Option<&'static str>) -> Case {
        let timed = || variants.iter().filter_map(|timing| Some((timing.variant, timing.ms?)));
        let best = timed().min_by(|one, other| one.1.total_cmp(&other.1));
        let taken = timed().find(|&(variant, _)| Some(variant) == chosen);
        let slower = taken.zip(best).map(|((_, taken), (_, best))| taken / best.max(1e-6));
        Case {
            shape: *self,
            chosen,
            best: best.map(|(variant, _)| variant),
            slower_than_best: slower.map(|ratio| (ratio * 100.0).round() / 100.0),
            variants,
        }
    }
}

/// What is measured, and how often.
struct Measurement<'a> {
    config: &'a ModelConfig,
    stack: &'a StackConfig,
    /// Name, inputs and outputs of each.
    layers: Vec<(&'static str, usize, usize)>,
    precision: WeightPrecision,
    repeats: usize,
}

pub fn run(subject: &Subject, repeats: usize, json: bool, output: &mut Output) -> Result<(), CliError> {
    let config = subject.config();
    let stack = if subject.generates() { &config.decoder } else { &config.encoder };
    let precision = subject.transformer.precision();
    let layers = linear_layers(config, stack, subject.generates());
    let measured = Measurement { config, stack, layers, precision, repeats };
    let of_both = measured.layers.len() * ROWS.len() + LENGTHS.len() + STEP_ROWS.len() + ROWS.len();
    warm_up(&subject.device())?;
    let kernels = match subject.device().gpu() {
        Some(gpu) => {
            let of_search = if subject.generates() { 2 * STEP_ROWS.len() } else { 0 };
            let mut steps = Steps::new(of_both + gpu::NORMALIZED.len() * ROWS.len() + of_search);
            gpu::run(gpu, &measured, &mut steps)?
        }
        None => cpu::run(&measured, &mut Steps::new(of_both)),
    };
    let report = Report { measured: Measured::new(subject), kernels };
    show(&report, Report::text, json, output)
}

fn linear_layers(
    config: &ModelConfig,
    stack: &StackConfig,
    generates: bool,
) -> Vec<(&'static str, usize, usize)> {
    let d_model = config.d_model;
    let mut layers = vec![
        ("qkv", d_model, 2 * stack.key_width() + stack.value_width()),
        ("output", stack.value_width(), d_model),
        ("up", d_model, stack.ffn_width),
        ("down", stack.ffn_width, d_model),
    ];
    if generates {
        layers.push(("logits", d_model, config.target_vocabulary));
    }
    layers
}

impl Report {
    fn text(&self, output: &mut Output) -> Result<(), CliError> {
        self.measured.text(output)?;
        let titles = [
            ("linear", ["layer", "rows", "inputs", "outputs"]),
            ("normalized_linear", ["layer", "rows", "inputs", "outputs"]),
            ("output_layer", ["layer", "rows", "inputs", "outputs"]),
            ("log_softmax_top_k", ["layer", "rows", "vocabulary", "best"]),
            ("attention", ["layer", "rows", "keys", "width"]),
            ("layer_norm", ["layer", "rows", "width", ""]),
        ];
        for (operator, titles) in titles {
            let cases: Vec<&Case> =
                self.kernels.iter().filter(|case| case.shape.operator == operator).collect();
            if cases.is_empty() {
                continue;
            }
            let several = cases.iter().any(|case| case.variants.len() > 1);
            let marks = if several { " (*: chosen)" } else { "" };
            output.line(&format!("\n{operator}, ms{marks}"))?;
            // attention has two sets of variants, each with a table
            for cases in cases.chunk_by(|one, other| names(one).eq(names(other))) {
                let variants: Vec<&str> = cases.first().map(|case| names(case).collect()).unwrap_or_default();
                let mut header = titles.to_vec();
                header.extend(variants);
                header.extend(["GFLOP/s", "GB/s"]);
                if several {
                    header.extend(["chosen/best", "best"]);
                }
                table(output, 1, &header, cases.iter().map(|case| case.cells()))?;
            }
        }
        Ok(())
    }
}

fn names(case: &Case) -> impl Iterator<Item = &'static str> {
    case.variants.iter().map(|timing| timing.variant)
}

impl Case {
    fn cells(&self) -> Vec<String> {
        let Shape { operator, layer, rows, inputs, outputs, .. } = self.shape;
        let outputs = if operator == "layer_norm" { String::new() } else { outputs.to_string() };
        let mut cells = vec![layer.to_owned(), rows.to_string(), inputs.to_string(), outputs];
        let several = self.variants.len() > 1;
        cells.extend(self.variants.iter().map(|timing| {
            let mark = if several && Some(timing.variant) == self.chosen { "*" } else { "" };
            match timing.ms {
                Some(ms) if ms < 0.01 => format!("{ms:.4}{mark}"),
                Some(ms) => number(ms) + mark,
                None => format!("over {}{mark}", MOST.as_millis()),
            }
        }));
        let best = self.variants.iter().find(|timing| Some(timing.variant) == self.best);
        let rate = |of: fn(&Timing) -> Option<f64>| best.and_then(of).map_or_else(String::new, number);
        cells.extend([rate(|timing| timing.gflop_per_second), rate(|timing| timing.gb_per_second)]);
        if several {
            let ratio = self.slower_than_best.map_or_else(String::new, |ratio| format!("{ratio:.2}"));
            cells.extend([ratio, self.best.unwrap_or_default().to_owned()]);
        }
        cells
    }
}
