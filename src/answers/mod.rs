//! Known answers: what a device's kernels must compute, by the CPU runner.
//!
//! A driver's bug gives noise, not an error. So [`Known`] holds small graphs of every operator, at sizes around the tiles of
//! its kernels, with every mask and weight precision, and the CPU's results. A device is asked for the same, with the kernels
//! of each [class](crate::kernels::AdapterClass) that it could be given. [`quick`] asks for a few.

mod attention;
mod blame;
mod cases;
mod compare;
mod layers;
mod rows;
pub mod sizes;

use std::collections::BTreeSet;
use std::sync::Arc;

pub use blame::{slow, wrong};
use cases::Cases;
pub use cases::random;
pub use compare::{Answer, Ask, Known};

#[cfg(not(target_arch = "wasm32"))]
use crate::device::Device;
use crate::gpu::{Extent, Gpu, GpuError, Verdict};
use crate::kernels::{AdapterClass, PassedOver};
use crate::precision::WeightPrecision;

/// Cases of related operators.
pub struct Group {
    /// Name in reports.
    pub name: &'static str,
    /// Whether matrices are read, in every precision.
    has_matrices: bool,
    add: fn(&mut Cases),
}

impl Group {
    /// The precisions that the kernels of the group have.
    pub fn precisions(&self) -> &'static [WeightPrecision] {
        if self.has_matrices { &WeightPrecision::ALL } else { &[WeightPrecision::F32] }
    }
}

/// All groups.
pub const GROUPS: [Group; 17] = [
    Group { name: "linear layers", has_matrices: true, add: layers::linear },
    Group { name: "norm and linear layer", has_matrices: true, add: layers::normalized_linear },
    Group { name: "output layer", has_matrices: true, add: layers::output_layer },
    Group { name: "embeddings", has_matrices: true, add: layers::embedding },
    Group { name: "shortlist", has_matrices: true, add: layers::shortlist },
    Group { name: "norms", has_matrices: false, add: rows::norm },
    Group { name: "attention", has_matrices: false, add: attention::attention },
    Group { name: "attention with a bias", has_matrices: false, add: attention::biased },
    Group { name: "additive attention", has_matrices: false, add: attention::additive },
    Group { name: "scores of attention", has_matrices: false, add: attention::scores },
    Group { name: "attention to a cache", has_matrices: false, add: attention::cached },
    Group { name: "attention in bands", has_matrices: false, add: attention::banded },
    Group { name: "selection", has_matrices: false, add: rows::selection },
    Group { name: "rows", has_matrices: false, add: rows::copies },
    Group { name: "recurrence", has_matrices: false, add: rows::recurrent },
    Group { name: "projected keys", has_matrices: false, add: rows::low_rank },
    Group { name: "gradients of linear layers", has_matrices: false, add: layers::gradients },
];

/// Asks a device for a few answers, with the kernels of its class and one weight precision, and takes the result. Does nothing
/// if the device was checked before in this precision. Returns the kernels that are passed over.
pub async fn quick(gpu: &Arc<Gpu>, precision: WeightPrecision) -> Result<Arc<PassedOver>, GpuError> {
    let verdict = gpu.verdict();
    if verdict.covers(precision) {
        return Ok(verdict.passed_over);
    }
    let known = |group: &Group| {
        let precision = if group.has_matrices { precision } else { WeightPrecision::F32 };
        Known::new(group, precision, true)
    };
    // the first check has asked those without matrices
    let is_first = verdict.precisions.is_empty();
    let mut all: Vec<Known> =
        GROUPS.iter().filter(|group| is_first || group.has_matrices).map(known).collect();
    prepare(gpu, &mut all, &[(gpu.class(), Ask::Answers)]).await?;
    let mut answers = Vec::new();
    for known in &all {
        answers.extend(known.ask(gpu, gpu.class(), Ask::Answers).await?);
    }
    let mut passed_over = (*verdict.passed_over).clone();
    passed_over.wrong.extend(owned(wrong(&answers)));
    let passed_over = Arc::new(passed_over);
    let precisions = verdict.precisions.into_iter().chain([precision]).collect();
    gpu.set_verdict(Verdict { extent: Extent::Quick, precisions, passed_over: passed_over.clone() });
    Ok(passed_over)
}

/// Asks a GPU that was never checked in this precision for [a few answers](quick), before the first session chooses its kernels. Not a software
/// adapter: it would compile longer than a model loads, and no user's default takes one.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn check_new(device: &Device, precision: WeightPrecision) -> Result<(), GpuError> {
    match device {
        Device::Gpu(gpu) if !gpu.class().is_software() => {
            pollster::block_on(quick(gpu, precision)).map(|_| ())
        }
        _ => Ok(()),
    }
}

/// Computes the answers of all cases on the CPU, and meanwhile compiles the kernels that the device will be `asked` to run, all together
/// on all cores. A browser compiles by itself.
pub(crate) async fn prepare(
    gpu: &Gpu,
    all: &mut [Known],
    asked: &[(AdapterClass, Ask)],
) -> Result<(), GpuError> {
    let answer = async |all: &mut [Known]| {
        for known in all {
            known.answer().await?;
        }
        Ok(())
    };
    #[cfg(not(target_arch = "wasm32"))]
    {
        let each = all.iter().flat_map(|known| asked.iter().map(move |&(class, what)| (known, class, what)));
        let launches: Vec<_> =
            each.flat_map(|(known, class, what)| known.launches(gpu, class, what)).collect();
        // the CPU answers without waiting for anything
        rayon::join(|| pollster::block_on(answer(all)), || gpu.compile(launches.iter())).0
    }
    #[cfg(target_arch = "wasm32")]
    {
        let _ = (gpu, asked);
        answer(all).await
    }
}

/// Names, owned.
pub(crate) fn owned(names: BTreeSet<&'static str>) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}
