//! `y = activation(scale·n·Wᵀ + b)` with n the layer norm or RMS norm of `x + residual`: a norm and the projection that reads
//! it in one launch, where a launch costs more than computing a row's statistics in every workgroup. That is on GPUs, while
//! there are few rows; elsewhere it is a [`layer_norm`](super::layer_norm) and a [`linear`](super::linear).

use std::ops::Range;

pub use super::linear::SplitVariant as Variant;
use super::linear::{LinearParams, LinearShape, linear_kernels};
use super::{Access, AdapterClass, ByPrecision, Dispatch, PANEL};

const STORAGE: &[Access] = &[
    Access::Read,
    Access::Read,
    Access::Read,
    Access::Read,
    Access::Read,
    Access::Read,
    Access::Write,
    Access::Write,
];

/// [`MATVEC_SPLIT`](super::linear::MATVEC_SPLIT) of inputs that it normalizes.
pub static MATVEC_SPLIT: ByPrecision =
    linear_kernels!("normalized_", "matvec_split" + "normalized_inputs", STORAGE);

/// [`MATVEC_4ROWS_SPLIT`](super::linear::MATVEC_4ROWS_SPLIT) of inputs that it normalizes.
pub static MATVEC_4ROWS_SPLIT: ByPrecision =
    linear_kernels!("normalized_", "matvec_4rows_split" + "normalized_inputs", STORAGE);

/// What a linear layer of normalized inputs computes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NormalizedLinearShape {
    /// The layer, without a join: its operand would be one buffer more than WebGPU's eight.
    pub linear: LinearShape,
    /// Added to the variance.
    pub epsilon: f32,
    /// Whether there is a residual.
    pub residual: bool,
    /// Layer norm; else RMS norm.
    pub centered: bool,
    /// Whether the normalized inputs are wanted, too.
    pub keeps: bool,
}

/// The most panels of outputs of a layer that normalizes its inputs: each is a workgroup that computes the statistics anew.
/// More than any layer of a stack has, of the models at hand, and less than a large vocabulary.
const MOST_PANELS: usize = 128;

/// The kernel for such a layer; none where two launches, a norm's and a linear layer's, are the better way.
pub fn choose(shape: &LinearShape, class: AdapterClass) -> Option<Variant> {
    if shape.join.is_some() || shape.outputs.div_ceil(PANEL) > MOST_PANELS {
        return None;
    }
    Variant::chosen(shape.rows, class)
}

/// The launch that computes the outputs `part`, a range that starts at a multiple of [`PANEL`]; the one that starts at 0
/// keeps the normalized inputs.
///
/// * storage: x `[rows, inputs]`, weight (panels of `part`), bias `[outputs]`, residual `[rows, inputs]`, γ and β
///   `[inputs]`, y `[rows, outputs]`, normalized inputs `[rows, inputs]`
pub fn dispatch(shape: &NormalizedLinearShape, part: Range<usize>, variant: Variant) -> Dispatch {
    let linear = &shape.linear;
    assert!(linear.join.is_none(), "{shape:?}");
    let params = LinearParams { epsilon: shape.epsilon, ..LinearParams::new(linear, &part) };
    let constants = vec![
        ("HAS_RESIDUAL", f64::from(shape.residual)),
        ("CENTERED", f64::from(shape.centered)),
        ("KEEPS", f64::from(shape.keeps)),
    ];
    let kernel = match variant {
        Variant::MatvecSplit => &MATVEC_SPLIT,
        Variant::Matvec4RowsSplit => &MATVEC_4ROWS_SPLIT,
    };
    let workgroups = variant.workgroups(linear.rows, &part);
    Dispatch::new(kernel.of(linear.precision), constants, &params, workgroups)
}
