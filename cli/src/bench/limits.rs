//! A device's practical limits: the speed of reading and of a matrix product, measured with the engine's own kernels.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde::Serialize;
use wordloom::activation::Activation;
use wordloom::gpu::{Buffer, Gpu};
use wordloom::kernels::linear::{self, LinearShape};
use wordloom::kernels::{Dispatch, panels, sum_blocks};
use wordloom::precision::WeightPrecision;
use wordloom::{Device, GpuError, cpu};

use super::timing::{median, round};

/// Bytes beyond the caches of most GPUs.
const GPU_BYTES: u64 = 256 << 20;
/// Bytes beyond the caches of most processors.
const CPU_BYTES: usize = 512 << 20;
/// Fewest bytes that can be timed.
const LEAST_BYTES: u64 = 1 << 20;
/// Time of one measurement: long compared with submitting and waiting, short for a driver's watchdog.
const WORK: Duration = Duration::from_millis(20);
const MOST_LAUNCHES: usize = 256;
const REPEATS: usize = 5;
/// Work before measurements: a GPU that was idle for a second has a quarter of its clock, and raises it in a second or two.
const WARM_UP: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, Serialize)]
pub struct Reading {
    pub bytes: u64,
    pub gb_per_second: f64,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct Product {
    pub size: usize,
    pub gflop_per_second: f64,
}

/// Microseconds of the smallest launch.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Launch {
    /// On the host: encoded and submitted, one of [`MOST_LAUNCHES`] in a pass.
    pub host_us: f64,
    /// On the device: each waits for the one before it. `None` without a clock on the device.
    pub device_us: Option<f64>,
    /// From a submission of a single launch until the host has the result.
    pub round_trip_us: f64,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct Limits {
    /// Repeated reading of as many bytes as a step's weights; caches may hold them.
    pub weights: Reading,
    pub memory: Reading,
    pub product: Product,
    /// `None` on the CPU, which has no launches.
    pub launch: Option<Launch>,
}

impl Limits {
    pub fn measure(device: &Device, weight_bytes: u64) -> Result<Self, GpuError> {
        match device.gpu() {
            None => Ok(Self {
                weights: cpu_reading(weight_bytes.max(LEAST_BYTES) as usize),
                memory: cpu_reading(CPU_BYTES),
                product: cpu_product(1024),
                launch: None,
            }),
            Some(gpu) => {
                let size = if gpu.class().is_software() { 512 } else { 2048 };
                Ok(Self {
                    weights: gpu_reading(gpu, weight_bytes.max(LEAST_BYTES))?,
                    memory: gpu_reading(gpu, GPU_BYTES)?,
                    product: gpu_product(gpu, size)?,
                    launch: Some(gpu_launch(gpu)?),
                })
            }
        }
    }
}

/// Works until the clock of a hardware GPU is high.
pub fn warm_up(device: &Device) -> Result<(), GpuError> {
    let Some(gpu) = device.gpu().filter(|gpu| !gpu.class().is_software()) else { return Ok(()) };
    let start = Instant::now();
    while start.elapsed() < WARM_UP {
        gpu_product(gpu, 2048)?;
    }
    Ok(())
}

fn reading(bytes: u64, seconds: f64) -> Reading {
    Reading { bytes, gb_per_second: round(bytes as f64 / seconds / 1e9) }
}

fn product(size: usize, seconds: f64) -> Product {
    Product { size, gflop_per_second: round(2.0 * (size as f64).powi(3) / seconds / 1e9) }
}

fn gpu_reading(gpu: &Gpu, bytes: u64) -> Result<Reading, GpuError> {
    let count = (bytes.min(gpu.max_storage_bytes()) / 4) as usize / sum_blocks::WORDS;
    let words = count * sum_blocks::WORDS;
    let data = gpu.buffer("data", words)?;
    let sums = gpu.buffer("sums", count)?;
    let launch = (sum_blocks::dispatch(count, gpu.class()), vec![&data, &sums]);
    Ok(reading(words as u64 * 4, launch_seconds(gpu, &[vec![launch]], REPEATS, None)?))
}

fn gpu_product(gpu: &Gpu, size: usize) -> Result<Product, GpuError> {
    let shape = linear_shape(size, size, size, WeightPrecision::F32);
    let x = gpu.upload("x", &numbers(size * size))?;
    let weight =
        gpu.upload("weight", &panels::pack(&numbers(size * size), size, size, WeightPrecision::F32))?;
    let nothing = gpu.buffer("nothing", 4)?;
    let y = gpu.buffer("y", size * size)?;
    let launch = (linear::dispatch(&shape, 0..size, gpu.class()), vec![&x, &weight, &nothing, &nothing, &y]);
    Ok(product(size, launch_seconds(gpu, &[vec![launch]], REPEATS, None)?))
}

fn gpu_launch(gpu: &Gpu) -> Result<Launch, GpuError> {
    let data = gpu.buffer("data", sum_blocks::WORDS)?;
    let sum = gpu.buffer("sum", 1)?;
    let launch = (sum_blocks::dispatch(1, gpu.class()), vec![&data, &sum]);
    let many = gpu.record("launches", &vec![launch.clone(); MOST_LAUNCHES])?;
    let one = gpu.record("launch", &[launch])?;
    let readback = gpu.readback("sum", &sum)?;
    let (mut host, mut device, mut round_trip) = (Vec::new(), Vec::new(), Vec::new());
    let clock = gpu.clock()?;
    for _ in 0..REPEATS + 1 {
        let start = Instant::now();
        gpu.submit(&many, 1, &[]);
        host.push(start.elapsed().as_secs_f64());
        gpu.flush()?;
        if let Some(clock) = &clock {
            device.extend(pollster::block_on(gpu.time(&many, clock))?.map(|time| time.as_secs_f64()));
        }
        let start = Instant::now();
        let submission = gpu.submit(&one, 1, &[(&sum, &readback)]);
        pollster::block_on(gpu.map(&readback, Some(submission), |words| black_box(words[0])))?;
        round_trip.push(start.elapsed().as_secs_f64());
    }
    let microseconds = |times: &[f64]| median(times.get(1..)?).map(|seconds| 1e6 * seconds); // the first warms up
    let each = |times: &[f64]| microseconds(times).map(|time| round(time / MOST_LAUNCHES as f64));
    Ok(Launch {
        host_us: each(&host).unwrap_or(0.0),
        device_us: each(&device),
        round_trip_us: round(microseconds(&round_trip).unwrap_or(0.0)),
    })
}

pub fn linear_shape(rows: usize, inputs: usize, outputs: usize, precision: WeightPrecision) -> LinearShape {
    LinearShape {
        rows,
        inputs,
        outputs,
        scale: 1.0,
        bias: false,
        activation: Activation::Identity,
        join: None,
        precision,
    }
}

/// Numbers between -½ and ½ without a pattern.
pub fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|index| (index as f32 * 0.618_034).fract() - 0.5).collect()
}

pub type Work<'a> = Vec<(Dispatch, Vec<&'a Buffer>)>;

/// Seconds of one piece of work in a submission of many, by the device's clock if it has one. The pieces alternate: if
/// their buffers differ, no cache keeps them. The median of `repeats` submissions; a piece that takes longer than `most` runs once.
pub fn launch_seconds(
    gpu: &Gpu,
    pieces: &[Work<'_>],
    repeats: usize,
    most: Option<Duration>,
) -> Result<f64, GpuError> {
    let clock = gpu.clock()?;
    let run = |count: usize| {
        let repeated: Vec<_> = pieces.iter().cycle().take(count).flatten().cloned().collect();
        let recording = gpu.record("measurement", &repeated)?;
        let clock = clock.as_ref();
        Ok::<_, GpuError>(move || {
            let start = Instant::now();
            let worked = match clock {
                Some(clock) => pollster::block_on(gpu.time(&recording, clock))?,
                None => {
                    gpu.submit(&recording, 1, &[]);
                    gpu.flush()?; // waits for the device
                    None
                }
            };
            Ok::<_, GpuError>(worked.unwrap_or(start.elapsed()))
        })
    };
    let once = run(1)?;
    let first = once()?; // compiles the kernel
    if most.is_some_and(|most| first > most) {
        return Ok(first.as_secs_f64());
    }
    let single = once()?;
    let count = (WORK.as_secs_f64() / single.as_secs_f64().max(1e-7)).ceil();
    let count = (count as usize).clamp(1, MOST_LAUNCHES);
    let many = run(count)?;
    many()?;
    let times = (0..repeats).map(|_| Ok(many()?.as_secs_f64())).collect::<Result<Vec<f64>, GpuError>>()?;
    Ok(median(&times).unwrap_or(0.0) / count as f64)
}

/// Seconds per call: the median of `repeats` rounds.
pub fn call_seconds(repeats: usize, mut call: impl FnMut()) -> f64 {
    let mut round = |count: usize| {
        let start = Instant::now();
        (0..count).for_each(|_| call());
        start.elapsed().as_secs_f64() / count as f64
    };
    round(1);
    let count = (WORK.as_secs_f64() / round(1).max(1e-9)).ceil().clamp(1.0, 1e6) as usize;
    let times: Vec<f64> = (0..repeats).map(|_| round(count)).collect();
    median(&times).unwrap_or(0.0)
}

fn cpu_reading(bytes: usize) -> Reading {
    let data: Vec<u32> = (0..bytes as u32 / 4).collect();
    let piece = data.len().div_ceil(4 * rayon::current_num_threads()).max(1);
    let seconds = call_seconds(REPEATS, || {
        let sums = data.par_chunks(piece).map(|piece| {
            // several sums, which do not wait for each other
            let mut sums = [0u32; 64];
            for words in piece.chunks_exact(sums.len()) {
                for (sum, word) in sums.iter_mut().zip(words) {
                    *sum = sum.wrapping_add(*word);
                }
            }
            sums.iter().fold(0, |sum: u32, part| sum.wrapping_add(*part))
        });
        black_box(sums.reduce(|| 0, u32::wrapping_add));
    });
    reading(data.len() as u64 * 4, seconds)
}

fn cpu_product(size: usize) -> Product {
    let (x, weight) = (numbers(size * size), numbers(size * size));
    let mut y = vec![0.0; size * size];
    let seconds = call_seconds(REPEATS, || {
        let layer =
            cpu::Linear { weight: cpu::WeightMatrix::F32(&weight), inputs: size, bias: None, scale: 1.0 };
        cpu::linear(&x, layer, Activation::Identity, None, black_box(&mut y));
    });
    product(size, seconds)
}
