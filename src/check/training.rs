//! Steps of a training, against the CPU's: the kernels of gradients and of the optimizer have no other answers.

use std::sync::Arc;

use super::report::{Outcome, Report, RunLine};
use super::{CheckError, unasked};
use crate::answers::Answer;
use crate::device::Device;
use crate::gpu::{Gpu, GpuError};
use crate::kernels::{PassedOver, bans, column_tokens, edits, heatmap, map_blocks, search};
use crate::train::{Lesson, LessonOptions, TrainError};

const STEPS: usize = 4;
/// Relative difference of losses by rounding.
const CLOSE: f64 = 1e-3;

pub(super) async fn check(
    gpu: &Arc<Gpu>,
    answers: &[Answer],
    passed_over: &mut PassedOver,
    report: &mut Report,
) -> Result<(), CheckError> {
    let outcome = match [losses(&Device::Cpu).await, losses(&Device::Gpu(gpu.clone())).await] {
        [Ok(want), Ok(got)] => match want.iter().zip(&got).position(|(want, got)| !close(*want, *got)) {
            None => Outcome::Right,
            Some(step) => Outcome::Wrong {
                about: format!("loss {} after step {}, not {}", got[step], step + 1, want[step]),
            },
        },
        [_, Err(TrainError::Gpu(GpuError::WrongKernel { kernel, .. }))] => Outcome::Refused { kernel },
        [_, Err(TrainError::Gpu(error))] => return Err(error.into()),
        [_, Err(error)] | [Err(error), _] => Outcome::Wrong { about: error.to_string() },
    };
    if matches!(outcome, Outcome::Wrong { .. }) {
        let others = [
            search::GREEDY_STEP.name,
            search::GREEDY_STEP_WORKGROUP.name,
            search::BEAM_STEP.name,
            search::REORDER_SLOTS.name,
            bans::RESET_BANS.name,
            bans::BAN_REPEATS.name,
            edits::PENALIZE_REPEATS.name,
            column_tokens::COLUMN_TOKENS.name,
            heatmap::HEATMAP.name,
            heatmap::MAP_MAXIMA.name,
            heatmap::ROW_MAXIMA.name,
            map_blocks::MAP_BLOCKS.name,
            map_blocks::MAP_BLOCKS_OF_BLOCKS.name,
        ];
        let of_training = unasked(answers).into_iter().filter(|name| !others.contains(name));
        passed_over.wrong.extend(of_training.map(str::to_owned));
    }
    report.runs.push(RunLine { name: "steps of a training".into(), outcome });
    Ok(())
}

/// The mean loss after each step.
async fn losses(device: &Device) -> Result<Vec<f64>, TrainError> {
    let mut options = LessonOptions::default();
    options.recipe.batch = 8;
    options.recipe.dropout = 0.1;
    options.recipe.label_smoothing = 0.1;
    options.recipe.warmup = 4;
    let mut lesson = Lesson::new(device, options)?;
    let mut losses = Vec::with_capacity(STEPS);
    for _ in 0..STEPS {
        lesson.take_step().await?;
        losses.push(lesson.losses().await?.mean());
    }
    Ok(losses)
}

fn close(want: f64, got: f64) -> bool {
    (want - got).abs() <= CLOSE * want.abs()
}
