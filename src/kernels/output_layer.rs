//! The output layer of a search, which also notes what [`vocabulary_chunks`](super::vocabulary_chunks) would of each panel of
//! logits: a launch less, and nobody reads the logits again but for the few panels that have a best token. That is on GPUs,
//! where a workgroup has whole panels, and where nothing is edited in between.

use std::ops::Range;

use super::bans::BanParams;
use super::edits::HistoryEdits;
pub use super::linear::SplitVariant as Variant;
use super::linear::{LinearShape, activation_code};
use super::log_softmax_top_k::TopKShape;
use super::vocabulary_chunks::Sums;
use super::{Access, AdapterClass, ByPrecision, Dispatch, PANEL, stride};

const STORAGE: &[Access] =
    &[Access::Read, Access::Read, Access::Read, Access::Read, Access::Read, Access::Write, Access::Write];

/// The kernels, from their own text.
macro_rules! kernels {
    ($kernel:literal) => {
        by_precision!(
            prefix: "output_",
            $kernel + "read_inputs" + "read_weights" + "linear" + "output_layer" + "multiply_add" + "activation" + "bans"
                + "search" + "candidate" + "masked" + "grid",
            storage: STORAGE,
            params: OutputLayerParams::FIELDS,
        )
    };
}

/// [`MATVEC_SPLIT`](super::linear::MATVEC_SPLIT) that notes its panels.
pub static MATVEC_SPLIT: ByPrecision = kernels!("matvec_split");

/// [`MATVEC_4ROWS_SPLIT`](super::linear::MATVEC_4ROWS_SPLIT) that notes its panels.
pub static MATVEC_4ROWS_SPLIT: ByPrecision = kernels!("matvec_4rows_split");

params! {
    /// Group 1 of both kernels; the first fields are those of a linear layer.
    pub struct OutputLayerParams {
        /// Rows of x and y.
        pub rows: u32,
        /// Quads in a row of x, and a fourth of the rows of a panel.
        pub input_quads: u32,
        /// First quad of y that this part of the weights computes.
        pub first_quad: u32,
        /// How many quads it computes.
        pub part_quads: u32,
        /// Outputs of all parts together.
        pub outputs: u32,
        /// Factor of the product.
        pub scale: f32,
        /// Whether there is a bias.
        pub has_bias: u32,
        /// See `shared/activation.wgsl`.
        pub activation: u32,
        /// Words of a list of bans.
        pub ban_words: u32,
        /// Rows of a sentence.
        pub beams: u32,
        /// Words of a sentence's search.
        pub block: u32,
    }
}

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
    let &LinearShape { rows, inputs, outputs, scale, bias, activation, join, precision } = shape;
    assert!(part.start.is_multiple_of(PANEL) && part.end <= outputs, "outputs {part:?} of {shape:?}");
    assert!(join.is_none() && !edits.penalty && !edits.repeats, "{shape:?}, {edits:?}");
    let bans = BanParams::new(outputs, Some(*edits));
    let params = OutputLayerParams {
        rows: rows as u32,
        input_quads: (stride(inputs) / 4) as u32,
        first_quad: (part.start / 4) as u32,
        part_quads: part.len().div_ceil(4) as u32,
        outputs: outputs as u32,
        scale,
        has_bias: bias.into(),
        activation: activation_code(activation),
        ban_words: bans.words,
        beams: bans.beams,
        block: bans.block,
    };
    let constants = vec![("BANS", bans.kind), ("SUM_BANNED", f64::from(scoring.sums() == Sums::All))];
    let kernel = match variant {
        Variant::MatvecSplit => &MATVEC_SPLIT,
        Variant::Matvec4RowsSplit => &MATVEC_4ROWS_SPLIT,
    };
    let workgroups = variant.workgroups(rows, &part);
    Dispatch::new(kernel.of(precision), constants, &params, workgroups)
}
