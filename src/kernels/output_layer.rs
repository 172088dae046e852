//! The output layer of a search, which also notes what [`vocabulary_chunks`](super::vocabulary_chunks) would of each panel of
//! logits: a launch less, and nobody reads the logits again but for the few panels that have a best token. That is on GPUs,
//! where a workgroup has whole panels, and where nothing is edited in between.

use std::ops::Range;

use super::bans::BanParams;
use super::edits::HistoryEdits;
pub use super::linear::SplitVariant as Variant;
use super::linear::{LinearParams, LinearShape, linear_kernels};
use super::log_softmax_top_k::TopKShape;
use super::vocabulary_chunks::Sums;
use super::{Access, AdapterClass, ByPrecision, Dispatch};

const STORAGE: &[Access] =
    &[Access::Read, Access::Read, Access::Read, Access::Read, Access::Read, Access::Write, Access::Write];

/// [`MATVEC_SPLIT`](super::linear::MATVEC_SPLIT) that notes its panels.
pub static MATVEC_SPLIT: ByPrecision = linear_kernels!(
    "output_",
    "matvec_split" + "output_layer" + "bans" + "search" + "candidate" + "masked",
    STORAGE
);

/// [`MATVEC_4ROWS_SPLIT`](super::linear::MATVEC_4ROWS_SPLIT) that notes its panels.
pub static MATVEC_4ROWS_SPLIT: ByPrecision = linear_kernels!(
    "output_",
    "matvec_4rows_split" + "output_layer" + "bans" + "search" + "candidate" + "masked",
    STORAGE
);

/// The kernel for such a layer; none where a linear layer and [`TopKShape::chunk_launches`] are the way: where no workgroup
/// has a whole panel, and where scores are edited, or tokens banned, because of what a row had before.
pub fn choose(shape: &LinearShape, edits: &HistoryEdits, class: AdapterClass) -> Option<Variant> {
    if shape.join.is_some() || edits.penalty || edits.repeats {
        return None;
    }
    Variant::chosen(shape.rows, class)
}

/// The launch that computes and notes the outputs `part`, a range that starts at a multiple of [`PANEL`].
///
/// * storage: x `[rows, inputs]`, weight (panels of `part`), bias `[outputs]`, bans, search, y `[rows, outputs]`, chunks u32
///   `[rows, panels, 4]` (best value, its token, maximum, sum)
pub fn dispatch(
    shape: &LinearShape,
    scoring: &TopKShape,
    edits: &HistoryEdits,
    part: Range<usize>,
    variant: Variant,
) -> Dispatch {
    assert!(shape.join.is_none() && !edits.penalty && !edits.repeats, "{shape:?}, {edits:?}");
    let bans = BanParams::new(shape.outputs, Some(*edits));
    let params = LinearParams {
        ban_words: bans.words,
        beams: bans.beams,
        block: bans.block,
        ..LinearParams::new(shape, &part)
    };
    let constants = vec![("BANS", bans.kind), ("SUM_BANNED", f64::from(scoring.sums() == Sums::All))];
    let kernel = match variant {
        Variant::MatvecSplit => &MATVEC_SPLIT,
        Variant::Matvec4RowsSplit => &MATVEC_4ROWS_SPLIT,
    };
    let workgroups = variant.workgroups(shape.rows, &part);
    Dispatch::new(kernel.of(shape.precision), constants, &params, workgroups)
}
