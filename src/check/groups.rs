//! The answers of all groups of cases.

use std::sync::Arc;

use super::Watch;
use super::report::Report;
use crate::answers::{Answer, Ask, GROUPS, Group, Known, prepare, wrong};
use crate::gpu::{Gpu, GpuError};
use crate::precision::WeightPrecision;

/// Asks for the answers of all groups, in every precision, and adds them to the report. `progress` gets the number of finished
/// groups and the next one's name.
pub(super) async fn ask_all(
    gpu: &Arc<Gpu>,
    report: &mut Report,
    progress: &mut dyn FnMut(usize, &'static str),
) -> Result<Vec<Answer>, GpuError> {
    progress(0, "kernels");
    let of_group =
        |group: &'static Group| group.precisions().iter().map(move |&precision| (group, precision));
    let groups: Vec<(&Group, WeightPrecision)> = GROUPS.iter().flat_map(of_group).collect();
    let known = |&(group, precision): &(&Group, WeightPrecision)| Known::new(group, precision, false);
    let mut all: Vec<Known> = groups.iter().map(known).collect();
    let [own, other] = [gpu.class(), gpu.class().other()];
    prepare(gpu, &mut all, &[(own, Ask::AnswersAndTimes), (other, Ask::Times)]).await?;
    let mut answers = Vec::new();
    for (done, ((group, precision), known)) in groups.iter().zip(&all).enumerate() {
        progress(done * GROUPS.len() / all.len(), group.name);
        let mut ask = async |class, what| {
            let watch = Watch::start();
            let got = known.ask(gpu, class, what).await?;
            if !got.is_empty() {
                report.add_group(group.name, *precision, class, &got, watch.seconds());
            }
            Ok(got)
        };
        let of_own = ask(own, Ask::AnswersAndTimes).await?;
        let what = of_other_class(&of_own);
        answers.extend(of_own);
        answers.extend(ask(other, what).await?);
    }
    Ok(answers)
}

/// What the kernels of the other class are asked for. A device is given them only in place of wrong or slow ones of its own, and to
/// compile them would be half of a first check.
fn of_other_class(own: &[Answer]) -> Ask {
    if wrong(own).is_empty() { Ask::Times } else { Ask::AnswersAndTimes }
}
