//! Checks a device: every kernel that it could be given against the CPU runner, then searches with a small model, a picture
//! of attention and a few steps of training. Kernels that are wrong, or much slower than others, are never chosen on this
//! device again.

mod groups;
mod model;
mod picture;
mod report;
#[cfg(feature = "training")]
mod training;

#[cfg(feature = "training")]
use std::collections::BTreeSet;
use std::sync::Arc;

pub use report::{DeviceLine, GroupLine, KernelLine, Outcome, Report, RunLine, Verdict};

#[cfg(feature = "training")]
use crate::answers::Answer;
use crate::answers::{GROUPS, owned, slow, wrong};
use crate::gpu::{self, Extent, Gpu, GpuError};
use crate::kernels::PassedOver;
use crate::model::ModelError;

/// A check that could not be finished. A wrong result is no error: the [`Report`] has it.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The device failed.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// The model of the check was refused: a bug in Wordloom.
    #[error("the check's own model: {0}")]
    Model(#[from] ModelError),
}

/// Checks a device. `progress` gets the finished part, 0 to 1, and what is checked next.
///
/// The result holds for later sessions on this device; natively it is also [stored](Gpu::set_verdict) for later runs.
///
/// # Errors
/// [`CheckError`] if the device fails, such as by being lost.
pub async fn check(
    gpu: &Arc<Gpu>,
    progress: &mut dyn FnMut(f32, &'static str),
) -> Result<Report, CheckError> {
    let watch = Watch::start();
    // what an earlier check found must not change what this one sees
    gpu.set_verdict(gpu::Verdict::default());
    let mut report = Report::of(gpu);
    // searches are as much work as two groups
    let mut progress = |done: usize, next| progress(done as f32 / (GROUPS.len() + 4) as f32, next);
    let answers = groups::ask_all(gpu, &mut report, &mut progress).await?;
    let mut passed_over = PassedOver {
        wrong: owned(wrong(&answers)),
        slow: owned(slow(&answers, gpu.class())),
        ..PassedOver::default()
    };
    set(gpu, &passed_over);
    progress(GROUPS.len(), "searches");
    model::check(gpu, &mut passed_over, &mut report).await?;
    progress(GROUPS.len() + 2, "pictures");
    picture::check(gpu, &mut passed_over, &mut report).await?;
    #[cfg(feature = "training")]
    {
        progress(GROUPS.len() + 3, "training");
        training::check(gpu, &answers, &mut passed_over, &mut report).await?;
    }
    set(gpu, &passed_over);
    report.add_kernels(&answers, &passed_over);
    report.seconds = watch.seconds();
    progress(GROUPS.len() + 4, "done");
    Ok(report)
}

fn set(gpu: &Gpu, passed_over: &PassedOver) {
    let passed_over = Arc::new(passed_over.clone());
    gpu.set_verdict(gpu::Verdict { extent: Extent::Full, passed_over, ..gpu::Verdict::default() });
}

/// All kernels that no case of the groups has launched.
#[cfg(feature = "training")]
fn unasked(answers: &[Answer]) -> BTreeSet<&'static str> {
    let asked: BTreeSet<&str> = answers.iter().flat_map(|answer| answer.kernels.iter().copied()).collect();
    crate::kernels::all().map(|kernel| kernel.name).filter(|name| !asked.contains(name)).collect()
}

/// Time since a start, where there is a clock.
struct Watch {
    #[cfg(not(target_arch = "wasm32"))]
    start: std::time::Instant,
}

impl Watch {
    fn start() -> Self {
        Self {
            #[cfg(not(target_arch = "wasm32"))]
            start: std::time::Instant::now(),
        }
    }

    fn seconds(&self) -> Option<f64> {
        #[cfg(not(target_arch = "wasm32"))]
        return Some(self.start.elapsed().as_secs_f64());
        #[cfg(target_arch = "wasm32")]
        None
    }
}
