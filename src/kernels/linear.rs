//! `y = activation(scale·x·Wᵀ + b)`, then `y + z` or `y ⊙ z`: projections, feed-forward layers and the output layer.
//!
//! Four kernels for GPUs and three for software adapters, each for every weight precision. Sums run over ascending
//! inputs, one fused multiply–add at a time (`shared/multiply_add.wgsl`). The GPU kernels for few rows add up several
//! such sums ([`Variant::splits_inputs`]). So a row's result does not depend on the number of other rows, except for its
//! last bits on a GPU with so many rows that they take tiles ([`choose`]).

use std::ops::Range;

use super::{Access, AdapterClass, ByPrecision, Dispatch, PANEL, fold, stride};
use crate::activation::Activation;
use crate::join::Join;
use crate::precision::WeightPrecision;

const STORAGE: &[Access] = &[Access::Read, Access::Read, Access::Read, Access::Read, Access::Write];

/// A linear layer's kernels, from their own text, the source of their inputs, and helpers.
macro_rules! linear_kernels {
    ($prefix:literal, $kernel:literal + $inputs:literal $(+ $helper:literal)*, $storage:expr) => {
        by_precision!(
            $prefix,
            $kernel + "linear" + $inputs + "multiply_add" + "activation" + "grid" $(+ $helper)*,
            $storage,
            $crate::kernels::linear::LinearParams::FIELDS
        )
    };
}
pub(super) use linear_kernels;

/// One row, one panel of outputs or less per workgroup; the lanes split the inputs. On a GPU, it reads every weight once.
pub static MATVEC_SPLIT: ByPrecision =
    linear_kernels!("", "matvec_split" + "plain_inputs" + "split_sums", STORAGE);

/// The same for four rows (the beams of a sentence), which share the weights read.
pub static MATVEC_4ROWS_SPLIT: ByPrecision =
    linear_kernels!("", "matvec_4rows_split" + "plain_inputs" + "split_sums", STORAGE);

/// The same for sixteen rows.
pub static MATMUL_SPLIT: ByPrecision =
    linear_kernels!("", "matmul_split" + "plain_inputs" + "split_sums" + "four_rows", STORAGE);

/// One row, sixteen outputs per invocation, for software adapters, where reads cost most.
pub static MATVEC_WIDE: ByPrecision = linear_kernels!("", "matvec_wide" + "plain_inputs", STORAGE);

/// The same for four rows.
pub static MATVEC_4ROWS_WIDE: ByPrecision =
    linear_kernels!("", "matvec_4rows_wide" + "plain_inputs" + "four_rows", STORAGE);

/// Eight rows, sixteen outputs per invocation, all in registers: barriers are slow on software adapters.
pub static MATMUL_REGISTERS: ByPrecision =
    linear_kernels!("", "matmul_registers" + "plain_inputs" + "four_rows", STORAGE);

/// A tile of 64 rows and 64 outputs per workgroup, staged through workgroup memory: for many rows on a GPU.
pub static MATMUL_TILED: ByPrecision =
    linear_kernels!("", "matmul_tiled" + "plain_inputs" + "four_rows", STORAGE);

params! {
    /// Group 1 of all of them, also of the forms that normalize inputs or note outputs. A *quad* is four neighbouring
    /// elements.
    pub struct LinearParams {
        /// Rows of x and y.
        pub rows: u32,
        /// Quads in a row of x; a fourth of the rows of a panel.
        pub input_quads: u32,
        /// First quad of y in this part of the weights.
        pub first_quad: u32,
        /// Quads of this part.
        pub part_quads: u32,
        /// Outputs of all parts.
        pub outputs: u32,
        /// Factor of the product.
        pub scale: f32,
        /// Whether there is a bias.
        pub has_bias: u32,
        /// See `shared/activation.wgsl`.
        pub activation: u32,
        /// 0: nothing, 1: y + z, 2: y ⊙ z.
        pub join: u32,
        /// Normalized inputs: elements per row of x, without padding.
        pub inputs: u32,
        /// Normalized inputs: number added to the variance.
        pub epsilon: f32,
        /// Output layer: words of a list of bans.
        pub ban_words: u32,
        /// Output layer: rows of a sentence.
        pub beams: u32,
        /// Output layer: words of a sentence's search.
        pub block: u32,
    }
}

impl LinearParams {
    /// Parameters for the outputs `part`, which starts at a multiple of [`PANEL`].
    pub(super) fn new(shape: &LinearShape, part: &Range<usize>) -> Self {
        assert!(
            part.start.is_multiple_of(PANEL) && part.end <= shape.outputs,
            "outputs {part:?} of {shape:?}"
        );
        Self {
            rows: shape.rows as u32,
            input_quads: (stride(shape.inputs) / 4) as u32,
            first_quad: (part.start / 4) as u32,
            part_quads: part.len().div_ceil(4) as u32,
            outputs: shape.outputs as u32,
            scale: shape.scale,
            has_bias: shape.bias.into(),
            activation: activation_code(shape.activation),
            join: join_code(shape.join),
            inputs: shape.inputs as u32,
            ..bytemuck::Zeroable::zeroed()
        }
    }
}

/// Shape and switches of a linear layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearShape {
    /// Rows of x and y.
    pub rows: usize,
    /// Input features.
    pub inputs: usize,
    /// Output features.
    pub outputs: usize,
    /// Factor of the product.
    pub scale: f32,
    /// Whether there is a bias.
    pub bias: bool,
    /// Activation before the join.
    pub activation: Activation,
    /// Join of z, if any.
    pub join: Option<Join>,
    /// Storage of the weights.
    pub precision: WeightPrecision,
}

/// The linear kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// [`MATVEC_SPLIT`]
    MatvecSplit,
    /// [`MATVEC_4ROWS_SPLIT`]
    Matvec4RowsSplit,
    /// [`MATMUL_SPLIT`]
    MatmulSplit,
    /// [`MATMUL_TILED`]
    MatmulTiled,
    /// [`MATVEC_WIDE`]
    MatvecWide,
    /// [`MATVEC_4ROWS_WIDE`]
    Matvec4RowsWide,
    /// [`MATMUL_REGISTERS`]
    MatmulRegisters,
}

impl Variant {
    /// All variants.
    pub const ALL: [Self; 7] = [
        Self::MatvecSplit,
        Self::Matvec4RowsSplit,
        Self::MatmulSplit,
        Self::MatmulTiled,
        Self::MatvecWide,
        Self::Matvec4RowsWide,
        Self::MatmulRegisters,
    ];

    /// Variants that have forms that normalize inputs or note outputs.
    pub const SPLIT: [Self; 2] = [Self::MatvecSplit, Self::Matvec4RowsSplit];

    /// The kernel in each precision.
    pub(super) const fn kernels(self) -> &'static ByPrecision {
        match self {
            Self::MatvecSplit => &MATVEC_SPLIT,
            Self::Matvec4RowsSplit => &MATVEC_4ROWS_SPLIT,
            Self::MatmulSplit => &MATMUL_SPLIT,
            Self::MatmulTiled => &MATMUL_TILED,
            Self::MatvecWide => &MATVEC_WIDE,
            Self::Matvec4RowsWide => &MATVEC_4ROWS_WIDE,
            Self::MatmulRegisters => &MATMUL_REGISTERS,
        }
    }

    /// Whether a row's products are summed in several parts. Kernels with the same answer agree bit by bit.
    pub const fn splits_inputs(self) -> bool {
        matches!(self, Self::MatvecSplit | Self::Matvec4RowsSplit | Self::MatmulSplit)
    }
}

/// Picks the kernel for `rows` rows.
///
/// | rows | software | hardware |
/// |---|---|---|
/// | 1 | `matvec_wide` | `matvec_split` |
/// | 2–8 | `matvec_4rows_wide` | `matvec_4rows_split` |
/// | 9–32 | `matmul_registers` | `matvec_4rows_split` |
/// | more | `matmul_registers` | `matmul_split`; from 512 rows on `matmul_tiled`, if its tiles keep a GPU busy |
///
/// On [matrix units](super::matrix_units), layers with more rows take other kernels later.
///
/// On a software adapter, a source of up to eight tokens uses the same kernel as the beams: a browser compiles one
/// kernel less before the first word.
pub fn choose(rows: usize, outputs: usize, class: AdapterClass) -> Variant {
    let tiles = || rows.div_ceil(64) * outputs.div_ceil(PANEL);
    match (class, rows) {
        (AdapterClass::Software, 0..=1) => Variant::MatvecWide,
        (AdapterClass::Software, 2..=8) => Variant::Matvec4RowsWide,
        (AdapterClass::Software, _) => Variant::MatmulRegisters,
        (AdapterClass::Hardware, 0..=1) => Variant::MatvecSplit,
        (AdapterClass::Hardware, 2..=32) => Variant::Matvec4RowsSplit,
        (AdapterClass::Hardware, ROWS_OF_TILES..) if tiles() >= ENOUGH_TILES => Variant::MatmulTiled,
        (AdapterClass::Hardware, _) => Variant::MatmulSplit,
    }
}

/// Rows and workgroups from which tiles are faster, measured on an H200.
const ROWS_OF_TILES: usize = 512;
const ENOUGH_TILES: usize = 256;
/// Workgroups with split inputs that keep a large GPU busy.
const ENOUGH_SPLITS: usize = 128;

/// Quads of outputs in a workgroup of the kernels that split inputs: a panel, or less if the outputs are few and the
/// inputs are enough for the lanes. Does not depend on the rows, or on the parts of the weights.
fn split_quads(shape: &LinearShape) -> usize {
    let mut quads = PANEL / 4;
    let input_quads = stride(shape.inputs) / 4;
    while quads > 4
        && shape.outputs.div_ceil(4 * quads) < ENOUGH_SPLITS
        && READS_OF_LANE * 256 / (quads / 2) <= input_quads
    {
        quads /= 2;
    }
    quads
}

/// Weights that a lane of `matvec_split` reads at a time.
const READS_OF_LANE: usize = 4;

/// Computes the outputs `part`, which starts at a multiple of [`PANEL`].
///
/// * storage: x `[rows, inputs]`, weight (panels of `part`), bias `[outputs]`, z and y `[rows, outputs]`
pub fn dispatch(shape: &LinearShape, part: Range<usize>, class: AdapterClass) -> Dispatch {
    dispatch_variant(shape, part, choose(shape.rows, shape.outputs, class))
}

/// [`dispatch`] with a given kernel, for tests and measurements.
pub fn dispatch_variant(shape: &LinearShape, part: Range<usize>, variant: Variant) -> Dispatch {
    // rows and outputs of a workgroup: few on a software adapter, so that a small layer uses all cores
    let split = 4 * split_quads(shape);
    let (rows, outputs) = match variant {
        Variant::MatvecSplit => (1, split),
        Variant::Matvec4RowsSplit => (4, split),
        Variant::MatmulSplit => (16, split),
        Variant::MatmulTiled => (64, PANEL),
        Variant::MatvecWide => (1, 2 * PANEL),
        Variant::Matvec4RowsWide => (4, 2 * PANEL),
        Variant::MatmulRegisters => (8, 2 * PANEL),
    };
    let kernel = variant.kernels().of(shape.precision);
    let constants = match variant.splits_inputs() {
        true => vec![("QUADS", (split / 4) as f64)],
        false => Vec::new(),
    };
    let workgroups = fold(shape.rows.div_ceil(rows) * part.len().div_ceil(outputs), 1);
    Dispatch::new(kernel, constants, &LinearParams::new(shape, &part), workgroups)
}

/// The activation's code in `shared/activation.wgsl`.
pub(super) const fn activation_code(activation: Activation) -> u32 {
    match activation {
        Activation::Identity => 0,
        Activation::Relu => 1,
        Activation::Gelu => 2,
        Activation::GeluTanh => 3,
        Activation::QuickGelu => 4,
        Activation::Silu => 5,
        Activation::Sigmoid => 6,
        Activation::Tanh => 7,
    }
}

/// The join's code in `shared/linear.wgsl`.
const fn join_code(join: Option<Join>) -> u32 {
    match join {
        None => 0,
        Some(Join::Add) => 1,
        Some(Join::Multiply) => 2,
    }
}
