//! Runs the cases of a group on a device, and compares with the CPU runner.

use std::sync::Arc;

use super::Group;
use super::cases::{Case, Cases, Compared, Input, RandomWeights};
use crate::device::Device;
use crate::gpu::{Gpu, GpuError};
#[cfg(not(target_arch = "wasm32"))]
use crate::graph::Target;
use crate::graph::{Plan, Reading, Session, State, Upload, Weights};
#[cfg(not(target_arch = "wasm32"))]
use crate::kernels::Dispatch;
use crate::kernels::{AdapterClass, PANEL};
use crate::precision::WeightPrecision;

/// Programs of a session: more would hold much memory at once.
const AT_ONCE: usize = 64;

/// A case on a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Name of the case.
    pub case: String,
    /// Class of the kernels.
    pub class: AdapterClass,
    /// Storage of weights.
    pub precision: WeightPrecision,
    /// Kernels of the case, each once.
    pub kernels: Vec<&'static str>,
    /// The largest difference from the CPU's answer, in units of its tolerance: more than 1 is wrong.
    pub difference: f32,
    /// Whether a second run gave the same bits.
    pub repeats: bool,
    /// Milliseconds of a run, if the case is timed.
    pub milliseconds: Option<f64>,
}

impl Answer {
    /// Whether the device's answer is right.
    pub fn is_right(&self) -> bool {
        self.difference <= 1.0 && self.repeats
    }
}

/// What a device is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// All cases.
    Answers,
    /// All cases, and the time of some.
    AnswersAndTimes,
    /// The cases that have a time.
    Times,
}

/// Cases with the CPU's answers.
pub struct Known {
    cases: Cases,
    precision: WeightPrecision,
    /// The results of each case.
    answers: Vec<Vec<Vec<f32>>>,
}

impl Known {
    /// The cases of a group: all, or those of a quick check. [`answer`](Self::answer) adds the answers.
    pub fn new(group: &Group, precision: WeightPrecision, quick: bool) -> Self {
        let mut cases = Cases::default();
        (group.add)(&mut cases);
        if quick {
            cases.list.retain(|case| case.is_quick);
        }
        Self { cases, precision, answers: Vec::new() }
    }

    /// Computes the answers on the CPU.
    pub async fn answer(&mut self) -> Result<(), GpuError> {
        let Self { cases, precision, answers } = self;
        // the rounded weights in f32: with 8-bit weights the CPU also rounds the inputs
        let weights = weights(&Device::Cpu, cases, *precision, WeightPrecision::F32)?;
        let all: Vec<usize> = (0..cases.list.len()).collect();
        let mut session = Session::new(&Device::Cpu, &weights, &cases.states, plans(cases, &all))?;
        answers.clear();
        for index in all {
            answers.push(finish(run(&mut session, &weights, cases, [index; 2])?).await?);
        }
        Ok(())
    }

    fn asked(&self, what: Ask) -> Vec<usize> {
        let list = &self.cases.list;
        (0..list.len()).filter(|&index| what != Ask::Times || list[index].is_timed).collect()
    }

    /// The launches that [`ask`](Self::ask) makes.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn launches(&self, gpu: &Gpu, class: AdapterClass, what: Ask) -> Vec<Dispatch> {
        let mut target = Target::new(class, self.precision, &self.cases.weights, gpu.max_storage_bytes());
        target.matrix_units = gpu.has_matrix_units();
        let plans = self.asked(what).into_iter().map(|index| &self.cases.list[index].plan);
        plans.flat_map(|plan| plan.lower(&target).launches).map(|launch| launch.dispatch).collect()
    }

    /// Runs cases on a device with the kernels of a class, also those that are passed over.
    pub async fn ask(&self, gpu: &Arc<Gpu>, class: AdapterClass, what: Ask) -> Result<Vec<Answer>, GpuError> {
        let Self { cases, precision, .. } = self;
        let asked = self.asked(what);
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let weights = weights(&Device::Gpu(gpu.clone()), cases, *precision, *precision)?;
        let mut answers = Vec::with_capacity(asked.len());
        for indices in asked.chunks(AT_ONCE) {
            let plans = plans(cases, indices);
            let (mut session, lists) = Session::to_check(gpu, &weights, &cases.states, &plans, class)?;
            // The device has all work before the host waits for the first answer: a round trip takes longer than most cases.
            let mut started = Vec::with_capacity(indices.len());
            for (program, &index) in indices.iter().enumerate() {
                let mut start = || run(&mut session, &weights, cases, [program, index]);
                started.push([start()?, start()?]);
            }
            for (program, ((&index, list), [first, second])) in
                indices.iter().zip(&lists).zip(started).enumerate()
            {
                let case = &cases.list[index];
                let got = [finish(first).await?, finish(second).await?];
                let mut kernels: Vec<_> =
                    list.launches.iter().map(|launch| launch.dispatch.kernel.name).collect();
                kernels.sort_unstable();
                kernels.dedup();
                answers.push(Answer {
                    case: case.what.clone(),
                    class,
                    precision: *precision,
                    kernels,
                    difference: self.difference(index, &got[0]),
                    repeats: got[0]
                        .iter()
                        .flatten()
                        .map(|x| x.to_bits())
                        .eq(got[1].iter().flatten().map(|x| x.to_bits())),
                    milliseconds: match what != Ask::Answers && case.is_timed {
                        true => milliseconds(gpu, &mut session, program, &weights).await?,
                        false => None,
                    },
                });
            }
        }
        Ok(answers)
    }

    fn difference(&self, index: usize, got: &[Vec<f32>]) -> f32 {
        let results = self.cases.list[index].results.iter().zip(got).zip(&self.answers[index]);
        results.map(|((&(_, compared), got), want)| difference(compared, got, want)).fold(0.0, f32::max)
    }
}

fn plans(cases: &Cases, indices: &[usize]) -> Vec<Plan> {
    indices.iter().map(|&index| cases.list[index].plan.clone()).collect()
}

fn weights(
    device: &Device,
    cases: &Cases,
    precision: WeightPrecision,
    stored: WeightPrecision,
) -> Result<Weights, GpuError> {
    let table = &cases.weights;
    let mut weights = match cases.trains {
        true => Weights::allocate_to_train(device, table)?,
        false => Weights::allocate(device, table, stored)?,
    };
    let mut upload = Upload::new((0..table.entries().len()).collect());
    let mut source = RandomWeights { table, precision };
    while upload.advance(device.gpu(), table, &mut weights, &mut source).map_err(|error| error.of_gpu())? {}
    Ok(weights)
}

/// Writes the inputs of a case, runs its program, and asks for the results.
fn run(
    session: &mut Session,
    weights: &Weights,
    cases: &Cases,
    [program, index]: [usize; 2],
) -> Result<Vec<Reading>, GpuError> {
    let Case { plan, results, .. } = &cases.list[index];
    let states: Vec<State> = plan.states().collect();
    for (state, input) in cases.inputs.iter().filter(|(state, _)| states.contains(state)) {
        match input {
            Input::F32(data) => session.write_f32(*state, data),
            Input::U32(data) => session.write(*state, data),
        }
    }
    session.run(session.program(program), weights);
    results.iter().map(|&(state, _)| session.start_reading(state)).collect()
}

async fn finish(readings: Vec<Reading>) -> Result<Vec<Vec<f32>>, GpuError> {
    let mut results = Vec::with_capacity(readings.len());
    for reading in readings {
        results.push(reading.finish().await?);
    }
    Ok(results)
}

/// The largest difference of two results, in units of the tolerance; infinite for a number that is none.
fn difference(compared: Compared, got: &[f32], want: &[f32]) -> f32 {
    if got.len() != want.len() {
        return f32::INFINITY;
    }
    let of_numbers = |got: &[f32], want: &[f32], absolute: f32, relative: f32| {
        let each = got.iter().zip(want).map(|(&got, &want)| {
            // any small enough number stands for minus infinity
            let (got, want) = (if got < -1e30 { -1e30 } else { got }, want.max(-1e30));
            let (off, allowed) = ((got - want).abs(), absolute + relative * want.abs());
            match off.partial_cmp(&allowed) {
                Some(std::cmp::Ordering::Greater) if allowed == 0.0 => f32::INFINITY,
                Some(_) if allowed == 0.0 => 0.0,
                Some(_) => off / allowed,
                None => f32::INFINITY,
            }
        });
        each.fold(0.0, f32::max)
    };
    match compared {
        Compared::Numbers(absolute, relative) => of_numbers(got, want, absolute, relative),
        Compared::Panels { inputs, absolute, relative } => {
            let place =
                |output: usize, input: usize| (output / PANEL * inputs + input) * PANEL + output % PANEL;
            let of_output = |output: usize| (0..inputs).map(move |input| place(output, input));
            let rows: Vec<f32> = (0..got.len() / inputs).flat_map(of_output).map(|at| got[at]).collect();
            of_numbers(&rows, want, absolute, relative)
        }
        Compared::Best { candidates, others } => {
            let width = 2 * candidates + others;
            let rows = got.chunks_exact(width).zip(want.chunks_exact(width));
            rows.map(|(got, want)| {
                let parts = |row: &[f32]| {
                    let (values, rest) = row.split_at(candidates);
                    let (tokens, others) = rest.split_at(candidates);
                    let tokens: Vec<u32> = tokens.iter().map(|token| token.to_bits()).collect();
                    ([values, others].concat(), tokens)
                };
                let ((values, tokens), (want_values, want_tokens)) = (parts(got), parts(want));
                if tokens == want_tokens {
                    of_numbers(&values, &want_values, 1e-5, 1e-5)
                } else {
                    f32::INFINITY
                }
            })
            .fold(0.0, f32::max)
        }
    }
}

/// The shortest of several measurements; `None` where there is no clock.
#[cfg(not(target_arch = "wasm32"))]
async fn milliseconds(
    gpu: &Gpu,
    session: &mut Session,
    program: usize,
    weights: &Weights,
) -> Result<Option<f64>, GpuError> {
    const RUNS: u32 = 4;
    /// A busy machine can interrupt one or two of them.
    const LEAST: u32 = 3;
    /// Enough for a clock, so that a slow device need not wait.
    const ENOUGH: std::time::Duration = std::time::Duration::from_millis(60);
    let begun = std::time::Instant::now();
    let mut shortest = f64::INFINITY;
    for measurement in 1..=5 {
        let start = std::time::Instant::now();
        for _ in 0..RUNS {
            session.run(session.program(program), weights);
        }
        gpu.settled().await?;
        shortest = shortest.min(start.elapsed().as_secs_f64() * 1000.0 / f64::from(RUNS));
        if measurement >= LEAST && begun.elapsed() > ENOUGH {
            break;
        }
    }
    Ok(Some(shortest))
}

#[cfg(target_arch = "wasm32")]
async fn milliseconds(_: &Gpu, _: &mut Session, _: usize, _: &Weights) -> Result<Option<f64>, GpuError> {
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_in_units_of_its_tolerance() {
        let numbers = Compared::Numbers(0.5, 0.0);
        assert_eq!(difference(numbers, &[1.0, 2.0], &[1.0, 2.25]), 0.5);
        assert_eq!(difference(numbers, &[1.0, f32::NAN], &[1.0, 2.0]), f32::INFINITY);
        assert_eq!(difference(numbers, &[f32::NEG_INFINITY], &[-2e30]), 0.0);
        assert_eq!(difference(numbers, &[1.0], &[1.0, 2.0]), f32::INFINITY);
        assert_eq!(difference(Compared::Numbers(0.0, 0.0), &[1.0], &[1.0]), 0.0);
        assert_eq!(difference(Compared::Numbers(0.0, 0.0), &[1.0], &[1.000_000_1]), f32::INFINITY);
        let row = |token: u32, other: f32| [2.0, 1.0, f32::from_bits(7), f32::from_bits(token), other];
        let best = Compared::Best { candidates: 2, others: 1 };
        assert_eq!(difference(best, &row(3, 0.5), &row(3, 0.5)), 0.0);
        assert_eq!(difference(best, &row(3, 0.5), &row(4, 0.5)), f32::INFINITY);
        assert!(difference(best, &row(3, 0.5), &row(3, 0.6)) > 1.0);
    }
}
