//! Runs layers: time, memory, arithmetic, launches, path lengths.

use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use pollster::block_on;
use serde::Serialize;
use wordloom::graph::{
    AdapterClass, GraphError, Session, State, Target, UnstorableWeight, Upload, WeightSource, WeightTable,
    Weights,
};
use wordloom::{Device, GpuError, WeightPrecision};

use super::builder::{Builder, Layer, Size};
use super::chain::longest_chain;
use super::kinds::Kind;
use super::path::longest_path;
use crate::CliError;
use crate::bench::Steps;
use crate::bench::limits::numbers;
use crate::bench::timing::{median, milliseconds, round};

/// A kind of layer at one size.
#[derive(Serialize)]
pub struct Cell {
    pub kind: &'static str,
    pub length: usize,
    pub width: usize,
    /// Milliseconds of a run, the median.
    pub ms: Option<f64>,
    /// The same of the processor, all threads together.
    pub cpu_ms: Option<f64>,
    /// Mean of the result's values, each times a number of its own: equal on all devices, but for rounding.
    pub checksum: Option<f64>,
    /// Reason for which it was not run.
    pub skipped: Option<String>,
    /// Bytes of weights, inputs, results and temporary values in f32.
    pub bytes: u64,
    /// Multiplications.
    #[serde(serialize_with = "as_float")]
    pub multiplications: u128,
    /// Launches on a GPU of the same graph.
    pub launches: usize,
    /// How many of them must wait for each other.
    pub chain: usize,
    /// Longest way of a signal between two positions, in steps from position to position.
    pub path: usize,
}

fn as_float<S: serde::Serializer>(number: &u128, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(*number as f64)
}

/// Largest memory of a cell, bytes.
const MOST_BYTES: u64 = 2 << 30;
/// Nodes of the longest graph that is made: a step takes two, and their buffers are chosen one by one.
const MOST_TOKENS: usize = 1 << 15;
/// Bytes of a buffer, as WebGPU's default limits have it.
const BUFFER_BYTES: u64 = 128 << 20;

pub struct Meter<'a> {
    device: &'a Device,
    limit: Duration,
    repeats: usize,
    steps: Steps,
    /// Milliseconds per multiplication in the last cell of each kind.
    rates: HashMap<&'static str, f64>,
    paths: HashMap<(&'static str, usize), usize>,
}

impl<'a> Meter<'a> {
    pub fn new(device: &'a Device, limit: Duration, repeats: usize, cells: usize) -> Self {
        let (rates, paths) = (HashMap::new(), HashMap::new());
        Self { device, limit, repeats, steps: Steps::new(cells), rates, paths }
    }

    pub fn measure(&mut self, kind: &Kind, size: Size) -> Result<Cell, CliError> {
        let Size { length, width } = size;
        self.steps.step();
        let skipped = |reason: String| Cell {
            kind: kind.name,
            length,
            width,
            ms: None,
            cpu_ms: None,
            checksum: None,
            skipped: Some(reason),
            bytes: 0,
            multiplications: 0,
            launches: 0,
            chain: 0,
            path: 0,
        };
        if length > MOST_TOKENS {
            return Ok(skipped(format!("more than {MOST_TOKENS} tokens")));
        }
        let mut builder = Builder::new(size);
        let layer = match (kind.build)(&mut builder).and_then(|y| builder.finish(y)) {
            Ok(layer) => layer,
            Err(error @ GraphError::TooLarge { .. }) => return Ok(skipped(error.to_string())),
            Err(error) => return Err(CliError::Input(format!("{}: {error}", kind.name))),
        };
        let class = self.device.gpu().map_or(AdapterClass::Hardware, |gpu| gpu.class());
        let target = Target::new(class, WeightPrecision::F32, &layer.weights, BUFFER_BYTES);
        let launches = layer.plan.lower(&target);
        let bytes = layer.weights.bytes(WeightPrecision::F32)
            + (layer.states.bytes() + layer.plan.buffer_bytes()) as u64;
        let path = *self
            .paths
            .entry((kind.name, length))
            .or_insert_with(|| longest_path(length, |position| (kind.reads)(position, length)));
        let mut cell = Cell {
            skipped: None,
            bytes,
            multiplications: layer.multiplications,
            launches: launches.launches.len(),
            chain: longest_chain(&launches),
            path,
            ..skipped(String::new())
        };
        drop(launches);
        cell.skipped = self.refused(kind, &cell);
        if cell.skipped.is_none() {
            match run(self.device, layer, self.limit, self.repeats) {
                Ok(Run { ms, cpu_ms, checksum }) => {
                    self.rates.insert(kind.name, ms / cell.multiplications.max(1) as f64);
                    (cell.ms, cell.cpu_ms) = (Some(round(ms)), cpu_ms.map(round));
                    cell.checksum = Some(checksum);
                }
                Err(RunError::Gpu(
                    error @ (GpuError::TooLarge { .. }
                    | GpuError::OutOfMemory { .. }
                    | GpuError::NoRoom { .. }
                    | GpuError::HostMemory { .. }),
                )) => cell.skipped = Some(error.to_string()),
                Err(RunError::Gpu(error)) => return Err(error.into()),
                Err(error) => return Err(CliError::Input(format!("{}: {error}", kind.name))),
            }
        }
        Ok(cell)
    }

    /// The reason for which a cell is not run.
    fn refused(&self, kind: &Kind, cell: &Cell) -> Option<String> {
        if cell.bytes > MOST_BYTES {
            let (need, most) = (cell.bytes as f64 / 1e9, MOST_BYTES as f64 / 1e9);
            return Some(format!("needs {need:.1} GB, of {most:.1} at most"));
        }
        let expected = self.rates.get(kind.name)? * cell.multiplications as f64;
        let limit = self.limit.as_secs_f64();
        (expected > limit * 1e3).then(|| format!("about {:.1} s, of {limit} at most", expected / 1e3))
    }
}

/// The reason for which a layer could not be run.
#[derive(Debug, thiserror::Error)]
enum RunError {
    #[error(transparent)]
    Gpu(#[from] GpuError),
    #[error(transparent)]
    Weight(#[from] UnstorableWeight),
    #[error("the result has values that are not finite: a fault of the device's driver, or of Wordloom")]
    NotFinite,
}

/// Weights without a pattern, whose products with a row neither grow nor vanish.
struct Numbers<'a>(&'a WeightTable);

impl WeightSource for Numbers<'_> {
    type Error = RunError;

    fn read_rows(&mut self, index: usize, rows: Range<usize>, out: &mut [f32]) -> Result<(), RunError> {
        let width = self.0.entries()[index].width;
        // variance 1/12 of numbers between -½ and ½
        let factor = (12.0 / width as f32).sqrt();
        let first = (rows.start * width) as u32;
        for (at, value) in out.iter_mut().enumerate() {
            let mixed = first.wrapping_add(at as u32).wrapping_mul(0x9E37_79B1).rotate_left(15);
            *value = ((mixed.wrapping_mul(0x85EB_CA77) >> 8) as f32 / (1 << 24) as f32 - 0.5) * factor;
        }
        Ok(())
    }
}

/// Milliseconds of a run, medians of several; and its result.
struct Run {
    ms: f64,
    cpu_ms: Option<f64>,
    checksum: f64,
}

fn run(device: &Device, layer: Layer, limit: Duration, repeats: usize) -> Result<Run, RunError> {
    let mut loaded = Loaded::new(device, layer)?;
    loaded.run()?; // compiles kernels, and touches the memory
    let result = block_on(loaded.session.read(loaded.result))?;
    let products = result.iter().zip(numbers(result.len())).map(|(&value, number)| f64::from(value * number));
    let checksum = products.sum::<f64>() / result.len() as f64;
    if !checksum.is_finite() {
        return Err(RunError::NotFinite);
    }
    let about = loaded.run()?.min(loaded.run()?).as_secs_f64().max(1e-9);
    // short runs are timed together
    let count = (SHORTEST.as_secs_f64() / about).ceil().clamp(1.0, 1e4);
    let (mut times, mut cpu_times) = (Vec::new(), Vec::new());
    let start = Instant::now();
    while times.len() < repeats && (times.is_empty() || start.elapsed() < limit) {
        let (all, cpu) = (Instant::now(), ProcessTime::try_now());
        for _ in 0..count as usize {
            loaded.start();
        }
        loaded.wait()?;
        times.push(milliseconds(all.elapsed()) / count);
        // some systems do not report it
        cpu_times
            .extend(cpu.and_then(|before| before.try_elapsed()).map(|spent| milliseconds(spent) / count));
    }
    Ok(Run { ms: median(&times).unwrap_or(0.0), cpu_ms: median(&cpu_times), checksum })
}

/// Time of one measurement: long compared with the clock.
const SHORTEST: Duration = Duration::from_millis(10);

/// A layer on a device.
struct Loaded<'a> {
    device: &'a Device,
    weights: Weights,
    session: Session,
    result: State,
}

impl<'a> Loaded<'a> {
    fn new(device: &'a Device, layer: Layer) -> Result<Self, RunError> {
        let Layer { plan, states, weights: table, inputs, words, result, .. } = layer;
        let mut weights = Weights::allocate(device, &table, WeightPrecision::F32)?;
        let mut upload = Upload::new((0..table.entries().len()).collect());
        while upload.advance(device.gpu(), &table, &mut weights, &mut Numbers(&table))? {}
        let mut session = Session::new(device, &weights, &states, vec![plan])?;
        for state in inputs {
            session.write_f32(state, &numbers(state.shape.elements()));
        }
        for (state, words) in words {
            session.write(state, &words);
        }
        Ok(Self { device, weights, session, result })
    }

    /// Runs the layer; on a GPU, submits it.
    fn start(&mut self) {
        self.session.run(self.session.program(0), &self.weights);
    }

    fn wait(&self) -> Result<(), GpuError> {
        self.device.gpu().map_or(Ok(()), |gpu| block_on(gpu.settled()))
    }

    fn run(&mut self) -> Result<Duration, GpuError> {
        let start = Instant::now();
        self.start();
        self.wait()?;
        Ok(start.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::super::kinds::find;
    use super::*;
    use crate::bench::layers::kinds::KERNEL;

    const SIZE: Size = Size { length: 9, width: 12 };

    fn layer(name: &str) -> Layer {
        let mut builder = Builder::new(SIZE);
        let y = (find(name).expect("a kind").build)(&mut builder).expect("it is built");
        builder.finish(y).expect("it is built")
    }

    /// The layer's weights in f64, by entry, and its result on the CPU.
    fn computed(name: &str) -> (Vec<Vec<f64>>, Vec<f32>) {
        let made = layer(name);
        let weights = (0..made.weights.entries().len())
            .map(|index| {
                let entry = &made.weights.entries()[index];
                let mut values = vec![0.0; entry.rows * entry.width];
                Numbers(&made.weights).read_rows(index, 0..entry.rows, &mut values).expect("numbers");
                values.into_iter().map(f64::from).collect()
            })
            .collect();
        let mut loaded = Loaded::new(&Device::Cpu, made).expect("memory");
        loaded.run().expect("runs");
        let result = block_on(loaded.session.read(loaded.result)).expect("a result");
        (weights, result)
    }

    fn input(count: usize) -> Vec<f64> {
        numbers(count).into_iter().map(f64::from).collect()
    }

    /// `W x` of a row.
    fn product(weight: &[f64], x: &[f64]) -> Vec<f64> {
        weight.chunks(x.len()).map(|row| row.iter().zip(x).map(|(w, x)| w * x).sum()).collect()
    }

    #[track_caller]
    fn close(name: &str, ours: &[f32], theirs: &[f64]) {
        assert_eq!(ours.len(), theirs.len(), "{name}");
        for (at, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
            assert!(
                (f64::from(*ours) - theirs).abs() < 1e-5,
                "{name}, {at}: {ours}, the formula gives {theirs}"
            );
        }
    }

    #[test]
    fn a_recurrent_layer_follows_its_formula() {
        let Size { length, width } = SIZE;
        let (weights, result) = computed("recurrent");
        let (mut state, mut wanted) = (vec![0.0; width], Vec::new());
        for x in input(length * width).chunks(width) {
            let (of_input, of_state) = (product(&weights[0], x), product(&weights[1], &state));
            let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
            state = (0..width)
                .map(|i| {
                    let r = sigmoid(of_input[i] + of_state[i]);
                    let z = sigmoid(of_input[width + i] + of_state[width + i]);
                    let n = (of_input[2 * width + i] + r * of_state[2 * width + i]).tanh();
                    (1.0 - z) * n + z * state[i]
                })
                .collect();
            wanted.extend(&state);
        }
        close("recurrent", &result, &wanted);
    }

    #[test]
    fn convolutions_follow_their_formulas() {
        let Size { length, width } = SIZE;
        let x = input(length * width);
        let at = |row: usize, offset: usize| {
            let from = (row + offset).checked_sub(KERNEL / 2).filter(|&from| from < length);
            from.map_or(vec![0.0; width], |from| x[from * width..][..width].to_vec())
        };
        let (weights, result) = computed("convolution");
        let side_by_side = |row| (0..KERNEL).flat_map(|offset| at(row, offset)).collect::<Vec<f64>>();
        let wanted: Vec<f64> = (0..length).flat_map(|row| product(&weights[0], &side_by_side(row))).collect();
        close("convolution", &result, &wanted);

        let (weights, result) = computed("separable");
        let mixed = |row: usize| {
            let mut sum = vec![0.0; width];
            for offset in 0..KERNEL {
                for (column, x) in at(row, offset).into_iter().enumerate() {
                    sum[column] += weights[0][offset * width + column] * x;
                }
            }
            sum
        };
        let wanted: Vec<f64> = (0..length).flat_map(|row| product(&weights[1], &mixed(row))).collect();
        close("separable", &result, &wanted);
    }

    /// The orders of Table 1 are those of the counted multiplications.
    #[test]
    fn multiplications_are_those_of_the_orders() {
        let Size { length, width } = SIZE;
        let count = |name: &str| layer(name).multiplications;
        let (n, d, k) = (length as u128, width as u128, KERNEL as u128);
        assert_eq!(count("attention"), 2 * n * n * d);
        assert_eq!(count("self-attention"), 2 * n * n * d + 4 * n * d * d);
        assert_eq!(count("recurrent"), 6 * n * d * d + 3 * n * d);
        assert_eq!(count("convolution"), k * n * d * d);
        assert_eq!(count("separable"), k * n * d + n * d * d);
        assert_eq!(count("fully-connected"), n * n * d * d);
    }

    #[test]
    fn only_recurrent_launches_wait_for_each_other() {
        let chain = |name: &str| {
            let layer = layer(name);
            let target =
                Target::new(AdapterClass::Hardware, WeightPrecision::F32, &layer.weights, BUFFER_BYTES);
            longest_chain(&layer.plan.lower(&target))
        };
        let kinds = ["attention", "self-attention", "convolution", "separable", "fully-connected"];
        assert_eq!(kinds.map(chain), [1, 3, 2, 2, 1]);
        // two for each token; the first product and that of the inputs do not wait for each other
        assert_eq!(chain("recurrent"), 2 * SIZE.length);
    }
}
