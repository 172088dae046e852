//! The output layer of a search that also notes the [`vocabulary_chunks`](super::vocabulary_chunks) of its logits: one
//! launch less, and a selection reads only a few panels of logits again. On GPUs, if a workgroup has whole panels and
//! no edit comes in between.

use super::linear::{self, LinearParams, linear_kernels};
use super::vocabulary_chunks::{VOCABULARY_PANELS, VocabularyChunksParams};
use super::{Access, ByPrecision, Dispatch, PANEL};

const STORAGE: &[Access] =
    &[Access::Read, Access::Read, Access::Read, Access::Read, Access::Read, Access::Write, Access::Write];

/// [`MATVEC_SPLIT`](super::linear::MATVEC_SPLIT) that notes its panels.
pub static MATVEC_SPLIT: ByPrecision = linear_kernels!(
    "output_",
    "matvec_split"
        + "output_layer"
        + "split_sums"
        + "panel_notes"
        + "bans"
        + "search"
        + "candidate"
        + "masked",
    STORAGE
);

/// [`MATVEC_4ROWS_SPLIT`](super::linear::MATVEC_4ROWS_SPLIT) that notes its panels.
pub static MATVEC_4ROWS_SPLIT: ByPrecision = linear_kernels!(
    "output_",
    "matvec_4rows_split"
        + "output_layer"
        + "split_sums"
        + "panel_notes"
        + "bans"
        + "search"
        + "candidate"
        + "masked",
    STORAGE
);

/// Fuses the output layer with a [`VOCABULARY_PANELS`] over all of its logits. `None` if a workgroup has no whole
/// panel, chunks are not panels, sums are kept, or bans depend on a row's history.
///
/// * storage: x `[rows, inputs]`, weight (panels of the layer's part), bias `[outputs]`, bans, search, y
///   `[rows, outputs]`, chunks u32 `[rows, panels, 4]` (best value, its token, maximum, sum)
pub fn fuse(linear: &Dispatch, notes: &Dispatch) -> Option<Dispatch> {
    let twins = [(&MATVEC_SPLIT, &linear::MATVEC_SPLIT), (&MATVEC_4ROWS_SPLIT, &linear::MATVEC_4ROWS_SPLIT)];
    let kernel = twins.into_iter().find_map(|(fused, plain)| fused.twin_of(plain, linear.kernel))?;
    if notes.kernel.name != VOCABULARY_PANELS.name || notes.constant("KEEPS_SUMS") != 0.0 {
        return None;
    }
    let layer: LinearParams = linear.read_params();
    let notes_params: VocabularyChunksParams = notes.read_params();
    let notes_panels = linear.constant("QUADS") == (PANEL / 4) as f64;
    if !notes_panels || layer.join != 0 || notes.constant("BANS") > 1.0 {
        return None;
    }
    let VocabularyChunksParams { ban_words, beams, block, .. } = notes_params;
    let params = LinearParams { ban_words, beams, block, ..layer };
    let constants = ["BANS", "SUM_BANNED"].map(|name| (name, notes.constant(name))).to_vec();
    Some(Dispatch::new(kernel, constants, &params, linear.workgroups))
}
