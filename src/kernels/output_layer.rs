//! The output layer of a search, which also notes what [`vocabulary_chunks`](super::vocabulary_chunks) would of each panel of
//! logits: a launch less, and nobody reads the logits again but for the few panels that have a best token. That is on GPUs,
//! where a workgroup has whole panels, and where nothing is edited in between.

use super::linear::{self, LinearParams};
use super::vocabulary_chunks::{VOCABULARY_CHUNKS, VocabularyChunksParams};
use super::{Access, ByPrecision, Dispatch};

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

/// The launch that does what a launch of the output layer and one of [`VOCABULARY_CHUNKS`] over all of its logits do; none
/// where two are the only way: where no workgroup has a whole panel, where chunks are no panels, where sums are kept, and where
/// tokens are banned because of a row's history.
///
/// * storage: x `[rows, inputs]`, weight (panels of the layer's part), bias `[outputs]`, bans, search, y `[rows, outputs]`,
///   chunks u32 `[rows, panels, 4]` (best value, its token, maximum, sum)
pub fn fuse(linear: &Dispatch, notes: &Dispatch) -> Option<Dispatch> {
    let twins = [(&MATVEC_SPLIT, &linear::MATVEC_SPLIT), (&MATVEC_4ROWS_SPLIT, &linear::MATVEC_4ROWS_SPLIT)];
    let kernel = twins.into_iter().find_map(|(fused, plain)| fused.twin_of(plain, linear.kernel))?;
    if notes.kernel.name != VOCABULARY_CHUNKS.name || notes.constant("KEEPS_SUMS") != 0.0 {
        return None;
    }
    let layer: LinearParams = linear.read_params();
    let notes_params: VocabularyChunksParams = notes.read_params();
    if layer.join != 0 || !notes_params.are_of_panels() || notes.constant("BANS") > 1.0 {
        return None;
    }
    let params = OutputLayerParams {
        rows: layer.rows,
        input_quads: layer.input_quads,
        first_quad: layer.first_quad,
        part_quads: layer.part_quads,
        outputs: layer.outputs,
        scale: layer.scale,
        has_bias: layer.has_bias,
        activation: layer.activation,
        ban_words: notes_params.ban_words,
        beams: notes_params.beams,
        block: notes_params.block,
    };
    let constants = ["BANS", "SUM_BANNED"].map(|name| (name, notes.constant(name))).to_vec();
    Some(Dispatch::new(kernel, constants, &params, linear.workgroups))
}
