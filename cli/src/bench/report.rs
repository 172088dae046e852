//! All measurements of one model on one device, as tables and as JSON.

use serde::Serialize;
use wordloom::gpu::Counters;

use super::limits::{self, Launch, Limits};
use super::models::Measured;
use super::subject::{Subject, Translation};
use super::timing::{Summary, milliseconds, round};
use super::{Load, Steps, Workload, host};
use crate::CliError;
use crate::output::Output;
use crate::table::{megabytes, number, optional, percent, table};

#[derive(Serialize)]
pub struct Report {
    #[serde(flatten)]
    measured: Measured,
    workload: Workload,
    open_ms: f64,
    load_ms: f64,
    /// Milliseconds of the first run after loading, with compilation of kernels and allocation.
    first_run_ms: f64,
    encode: Vec<Encode>,
    decode: Vec<Decode>,
    limits: Limits,
    memory: Memory,
}

#[derive(Serialize)]
struct Encode {
    tokens: usize,
    #[serde(flatten)]
    time: Summary,
    operations: u64,
    gflop_per_second: f64,
    share_of_product: Option<f64>,
    dispatches: Option<u64>,
}

#[derive(Serialize)]
struct Decode {
    beams: usize,
    batch: usize,
    source: usize,
    tokens: usize,
    /// From ids to ids.
    translate: Summary,
    /// From ids to the first token.
    first_token: Summary,
    per_token: Option<PerToken>,
    tokens_per_second: f64,
    counted_per_token: Option<PerTokenCounters>,
}

/// A step of all rows: difference of two translations divided by the difference of their tokens.
#[derive(Serialize)]
struct PerToken {
    ms: f64,
    ms_min: f64,
    cpu_ms: Option<f64>,
    /// Milliseconds per step between this number of tokens and the previous one.
    later_ms: Option<f64>,
    dispatches: Option<f64>,
    weight_bytes: u64,
    /// Bytes of keys and values that a step reads, at mean length.
    cache_bytes: u64,
    /// `None` if noise exceeds the time of a token.
    gb_per_second: Option<f64>,
    share_of_bandwidth: Option<f64>,
}

#[derive(Serialize)]
struct PerTokenCounters {
    dispatches: f64,
    submits: f64,
    readbacks: f64,
    buffers: f64,
    bind_groups: f64,
}

impl PerTokenCounters {
    fn new(counted: Counters, tokens: usize) -> Self {
        let each = |count: u64| count as f64 / tokens as f64;
        Self {
            dispatches: each(counted.dispatches),
            submits: each(counted.submits),
            readbacks: each(counted.readbacks),
            buffers: each(counted.buffers),
            bind_groups: each(counted.bind_groups),
        }
    }
}

/// Bytes, measured before the limits.
#[derive(Serialize)]
struct Memory {
    host_peak: Option<u64>,
    device: Option<u64>,
    device_peak: Option<u64>,
    step_weights: u64,
    /// Bytes of keys and values of one token, and of one source token.
    cache_per_token: u64,
    memory_per_token: u64,
}

impl Launch {
    fn text(&self) -> String {
        let device = self.device_us.map_or("-".into(), number);
        let [host, round_trip] = [self.host_us, self.round_trip_us].map(number);
        format!("launches  {host} µs on the host, {device} µs on the device, {round_trip} µs there and back")
    }
}

impl Report {
    pub fn measure(subject: &Subject, workload: &Workload, load: Load) -> Result<Self, CliError> {
        let sizes: Vec<(usize, usize)> = workload
            .batch
            .iter()
            .flat_map(|&batch| workload.beams.iter().map(move |&beams| (batch, beams)))
            .collect();
        let mut steps = Steps::new(workload.encode.len() + sizes.len() * (1 + workload.tokens.len()) + 3);
        let first_run_ms = first_run(subject, workload)?;
        limits::warm_up(&subject.device())?;
        steps.step();
        let mut encode = Vec::new();
        if subject.encodes() {
            for &tokens in &workload.encode {
                encode.push(Encode::measure(subject, tokens, workload.repeats)?);
                steps.step();
            }
        }
        let mut decode = Vec::new();
        if subject.generates() {
            for (batch, beams) in sizes {
                let size = Translation { batch, beams, source: workload.source, tokens: 1 };
                decode.extend(Decode::measure(subject, size, workload, &mut steps)?);
            }
        }
        let memory = Memory::now(subject);
        let limits = Limits::measure(&subject.device(), memory.step_weights)?;
        steps.step();
        for row in &mut encode {
            row.share_of_product = Some(round(row.gflop_per_second / limits.product.gflop_per_second));
        }
        for per_token in decode.iter_mut().filter_map(|row| row.per_token.as_mut()) {
            let share = |rate: f64| round(rate / limits.weights.gb_per_second);
            per_token.share_of_bandwidth = per_token.gb_per_second.map(share);
        }
        Ok(Self {
            measured: Measured::new(subject),
            workload: workload.clone(),
            open_ms: round(milliseconds(load.open)),
            load_ms: round(milliseconds(load.load)),
            first_run_ms,
            encode,
            decode,
            limits,
            memory,
        })
    }

    pub fn text(&self, output: &mut Output) -> Result<(), CliError> {
        let Self { limits, memory, .. } = self;
        self.measured.text(output)?;
        output.line(&format!(
            "start     device {} ms, loading {} ms, first run {} ms",
            number(self.open_ms),
            number(self.load_ms),
            number(self.first_run_ms)
        ))?;
        output.line(&format!("memory    {}", memory.text(self.measured.model.weight_bytes)))?;
        output.line(&format!(
            "limits    reading {} GB/s ({} MB), {} GB/s ({} MB); matrix product {} GFLOP/s ({size} × {size})",
            number(limits.weights.gb_per_second),
            megabytes(limits.weights.bytes),
            number(limits.memory.gb_per_second),
            megabytes(limits.memory.bytes),
            number(limits.product.gflop_per_second),
            size = limits.product.size
        ))?;
        if let Some(launch) = &limits.launch {
            output.line(&launch.text())?;
        }
        if !self.encode.is_empty() {
            output.line("\nencode one source")?;
            let header = ["tokens", "ms", "min", "cpu ms", "GFLOP/s", "share", "dispatches"];
            table(output, 0, &header, self.encode.iter().map(Encode::cells))?;
        }
        if self.decode.is_empty() {
            return Ok(());
        }
        let mut sizes = |title: &str, header: &[&str], cells: fn(&Decode) -> Vec<String>| {
            output.line(&format!("\n{title}"))?;
            let rows = self.decode.iter().map(|row| {
                let size = [row.beams, row.batch, row.tokens].map(|number| number.to_string());
                size.into_iter().chain(cells(row)).collect()
            });
            table(output, 0, &[&["beams", "batch", "tokens"], header].concat(), rows)
        };
        let header = ["ms", "min", "cpu ms", "first token ms", "tokens/s"];
        sizes(&format!("translate sources of {} tokens", self.workload.source), &header, Decode::cells)?;
        let header = ["ms", "min", "cpu ms", "later ms", "MB read", "GB/s", "share"];
        sizes("each token after the first", &header, Decode::per_token_cells)?;
        if self.decode.iter().all(|row| row.counted_per_token.is_none()) {
            return Ok(());
        }
        let header = ["dispatches", "of a step", "submits", "read-backs", "new buffers", "new bind groups"];
        sizes("for each token, counted over a translation", &header, Decode::counted_cells)
    }
}

fn first_run(subject: &Subject, workload: &Workload) -> Result<f64, CliError> {
    let first = |numbers: &[usize]| numbers.first().copied().unwrap_or(1);
    let start = std::time::Instant::now();
    if subject.generates() {
        let (batch, beams, tokens) =
            (first(&workload.batch), first(&workload.beams), first(&workload.tokens));
        subject.translation(Translation { batch, beams, source: workload.source, tokens })?()?;
    } else {
        subject.encoder(first(&workload.encode))?()?;
    }
    Ok(round(milliseconds(start.elapsed())))
}

impl Encode {
    fn measure(subject: &Subject, tokens: usize, repeats: usize) -> Result<Self, CliError> {
        let (time, counted) = subject.time(repeats, subject.encoder(tokens)?)?;
        let operations = subject.transformer.encoder_operations(tokens);
        Ok(Self {
            tokens,
            time,
            operations,
            gflop_per_second: round(operations as f64 / time.ms / 1e6),
            share_of_product: None,
            dispatches: counted.map(|counted| counted.dispatches),
        })
    }

    fn cells(&self) -> Vec<String> {
        vec![
            self.tokens.to_string(),
            number(self.time.ms),
            number(self.time.ms_min),
            optional(self.time.cpu_ms),
            number(self.gflop_per_second),
            percent(self.share_of_product),
            self.dispatches.map_or_else(|| "–".to_owned(), |count| count.to_string()),
        ]
    }
}

impl Decode {
    /// Measures translations of each number of tokens, and of one token for comparison.
    fn measure(
        subject: &Subject,
        size: Translation,
        workload: &Workload,
        steps: &mut Steps,
    ) -> Result<Vec<Self>, CliError> {
        let mut time = |tokens: usize| {
            let timed =
                subject.time(workload.repeats, subject.translation(Translation { tokens, ..size })?)?;
            steps.step();
            Ok::<_, CliError>(timed)
        };
        let one = Timed::new(1, time(1)?);
        let mut before: Option<Timed> = None;
        let mut rows = Vec::new();
        for &tokens in &workload.tokens {
            let timed = Timed::new(tokens, time(tokens)?);
            let later = before.as_ref().and_then(|before| timed.since(before, |summary| summary.ms));
            rows.push(Self::new(subject, size, &one, &timed, later));
            before = Some(timed);
        }
        Ok(rows)
    }

    fn new(subject: &Subject, size: Translation, one: &Timed, timed: &Timed, later: Option<f64>) -> Self {
        let Translation { batch, beams, source, .. } = size;
        let (transformer, tokens) = (&subject.transformer, timed.tokens);
        let weight_bytes = transformer.step_weight_bytes();
        // self-attention reads half of the target on average; cross-attention reads the source
        let history =
            (batch * beams) as u64 * transformer.cache_bytes_per_token() * (tokens as u64).div_ceil(2);
        let cache_bytes = history + (batch * source) as u64 * transformer.memory_bytes_per_token();
        let per_token = timed.since(one, |summary| summary.ms).map(|ms| PerToken {
            ms,
            ms_min: timed.since(one, |summary| summary.ms_min).unwrap_or(ms),
            cpu_ms: timed
                .time
                .cpu_ms
                .zip(one.time.cpu_ms)
                .map(|(cpu, first)| round((cpu - first) / (tokens - 1) as f64)),
            later_ms: later,
            dispatches: timed
                .counted
                .zip(one.counted)
                .map(|(counted, first)| (counted.dispatches - first.dispatches) as f64 / (tokens - 1) as f64),
            weight_bytes,
            cache_bytes,
            gb_per_second: (ms > 0.0).then(|| round((weight_bytes + cache_bytes) as f64 / ms / 1e6)),
            share_of_bandwidth: None,
        });
        Self {
            beams,
            batch,
            source,
            tokens,
            translate: timed.time,
            first_token: one.time,
            per_token,
            tokens_per_second: round((batch * tokens) as f64 / timed.time.ms * 1e3),
            counted_per_token: timed.counted.map(|counted| PerTokenCounters::new(counted, tokens)),
        }
    }

    fn cells(&self) -> Vec<String> {
        vec![
            number(self.translate.ms),
            number(self.translate.ms_min),
            optional(self.translate.cpu_ms),
            number(self.first_token.ms),
            number(self.tokens_per_second),
        ]
    }

    fn per_token_cells(&self) -> Vec<String> {
        let Some(per_token) = &self.per_token else { return Vec::new() };
        vec![
            number(per_token.ms),
            number(per_token.ms_min),
            optional(per_token.cpu_ms),
            optional(per_token.later_ms),
            megabytes(per_token.weight_bytes + per_token.cache_bytes),
            optional(per_token.gb_per_second),
            percent(per_token.share_of_bandwidth),
        ]
    }

    fn counted_cells(&self) -> Vec<String> {
        let Some(counted) = &self.counted_per_token else { return Vec::new() };
        vec![
            number(counted.dispatches),
            optional(self.per_token.as_ref().and_then(|per_token| per_token.dispatches)),
            number(counted.submits),
            number(counted.readbacks),
            number(counted.buffers),
            number(counted.bind_groups),
        ]
    }
}

struct Timed {
    tokens: usize,
    time: Summary,
    counted: Option<Counters>,
}

impl Timed {
    fn new(tokens: usize, (time, counted): (Summary, Option<Counters>)) -> Self {
        Self { tokens, time, counted }
    }

    /// The time per additional token.
    fn since(&self, other: &Self, of: impl Fn(&Summary) -> f64) -> Option<f64> {
        let more = self.tokens.checked_sub(other.tokens).filter(|&more| more > 0)?;
        Some(round((of(&self.time) - of(&other.time)) / more as f64))
    }
}

impl Memory {
    fn now(subject: &Subject) -> Self {
        let (device, transformer) = (subject.device(), &subject.transformer);
        let gpu = device.gpu();
        Self {
            host_peak: host::peak_bytes(),
            device: gpu.map(|gpu| gpu.bytes_in_use()),
            device_peak: gpu.map(|gpu| gpu.peak_bytes()),
            step_weights: transformer.step_weight_bytes(),
            cache_per_token: transformer.cache_bytes_per_token(),
            memory_per_token: transformer.memory_bytes_per_token(),
        }
    }

    fn text(&self, weight_bytes: u64) -> String {
        let mut parts = vec![
            format!("weights {} MB", megabytes(weight_bytes)),
            format!("{} MB of them read for a token", megabytes(self.step_weights)),
        ];
        if let (Some(now), Some(peak)) = (self.device, self.device_peak) {
            parts.push(format!("device {} MB, at most {} MB", megabytes(now), megabytes(peak)));
        }
        if let Some(peak) = self.host_peak {
            parts.push(format!("host at most {} MB", megabytes(peak)));
        }
        parts.join(", ")
    }
}
