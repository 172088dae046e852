//! `y = activation(scale·n·Wᵀ + b)` with n the layer norm or RMS norm of `x + residual`: a norm and the projection that reads
//! it in one launch, where a launch costs more than computing a row's statistics in every workgroup. That is on GPUs, while
//! there are few rows; elsewhere it is a [`layer_norm`](super::layer_norm) and a [`linear`](super::linear).

use std::ops::Range;

pub use super::linear::SplitVariant as Variant;
use super::linear::{LinearShape, activation_code};
use super::{Access, AdapterClass, ByPrecision, Dispatch, PANEL, stride};

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
pub static MATVEC_SPLIT: ByPrecision = by_precision!(
    prefix: "normalized_",
    "matvec_split" + "linear" + "normalized_inputs" + "read_weights" + "multiply_add" + "activation" + "grid",
    storage: STORAGE,
    params: NormalizedLinearParams::FIELDS,
);

/// [`MATVEC_4ROWS_SPLIT`](super::linear::MATVEC_4ROWS_SPLIT) of inputs that it normalizes.
pub static MATVEC_4ROWS_SPLIT: ByPrecision = by_precision!(
    prefix: "normalized_",
    "matvec_4rows_split" + "linear" + "normalized_inputs" + "read_weights" + "multiply_add" + "activation" + "grid",
    storage: STORAGE,
    params: NormalizedLinearParams::FIELDS,
);

params! {
    /// Group 1 of both kernels; the first fields are those of a linear layer.
    pub struct NormalizedLinearParams {
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
        /// Elements of a row of x that count.
        pub inputs: u32,
        /// Added to the variance.
        pub epsilon: f32,
    }
}

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
    let LinearShape { rows, inputs, outputs, scale, bias, activation, join, precision } = shape.linear;
    assert!(part.start.is_multiple_of(PANEL) && part.end <= outputs, "outputs {part:?} of {shape:?}");
    assert!(join.is_none(), "{shape:?}");
    let params = NormalizedLinearParams {
        rows: rows as u32,
        input_quads: (stride(inputs) / 4) as u32,
        first_quad: (part.start / 4) as u32,
        part_quads: part.len().div_ceil(4) as u32,
        outputs: outputs as u32,
        scale,
        has_bias: bias.into(),
        activation: activation_code(activation),
        inputs: inputs as u32,
        epsilon: shape.epsilon,
    };
    let constants = vec![
        ("HAS_RESIDUAL", f64::from(shape.residual)),
        ("CENTERED", f64::from(shape.centered)),
        ("KEEPS", f64::from(shape.keeps)),
    ];
    let kernel = match variant {
        Variant::MatvecSplit => &MATVEC_SPLIT,
        Variant::Matvec4RowsSplit => &MATVEC_4ROWS_SPLIT,
    };
    let workgroups = variant.workgroups(rows, &part);
    Dispatch::new(kernel.of(precision), constants, &params, workgroups)
}
