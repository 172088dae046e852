//! `y = activation(scale·n·Wᵀ + b)` with n the layer norm or RMS norm of `x + residual`: a norm and the projection that reads
//! it in one launch, where a launch costs more than computing a row's statistics in every workgroup. That is on GPUs, while
//! there are few rows; elsewhere it is a [`layer_norm`](super::layer_norm) and a [`linear`](super::linear).

use super::layer_norm::{LayerNormParams, is_norm};
use super::linear::{self, LinearParams};
use super::{Access, ByPrecision, Dispatch, PANEL};

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

/// The most panels of outputs of a layer that normalizes its inputs: each is a workgroup that computes the statistics anew.
/// More than any layer of a stack has, of the models at hand, and less than a large vocabulary.
const MOST_PANELS: u32 = 128;

/// The launch that does what a launch of a norm and one of a linear layer of it do; none where two are the better way, or
/// the layer has a join, whose operand would be one buffer more than WebGPU's eight.
///
/// * `keeps`: whether the normalized inputs are wanted, too; of a layer in parts the first part keeps them
/// * storage: x `[rows, inputs]`, weight (panels of the layer's part), bias `[outputs]`, residual `[rows, inputs]`, γ and β
///   `[inputs]`, y `[rows, outputs]`, normalized inputs `[rows, inputs]`
pub fn fuse(norm: &Dispatch, linear: &Dispatch, keeps: bool) -> Option<Dispatch> {
    if !is_norm(norm.kernel) {
        return None;
    }
    let twins = [(&MATVEC_SPLIT, &linear::MATVEC_SPLIT), (&MATVEC_4ROWS_SPLIT, &linear::MATVEC_4ROWS_SPLIT)];
    let kernel = twins.into_iter().find_map(|(fused, plain)| fused.twin_of(plain, linear.kernel))?;
    let LayerNormParams { width, epsilon, .. } = norm.read_params();
    let layer: LinearParams = linear.read_params();
    if layer.join != 0 || layer.outputs.div_ceil(PANEL as u32) > MOST_PANELS {
        return None;
    }
    let params = NormalizedLinearParams {
        rows: layer.rows,
        input_quads: layer.input_quads,
        first_quad: layer.first_quad,
        part_quads: layer.part_quads,
        outputs: layer.outputs,
        scale: layer.scale,
        has_bias: layer.has_bias,
        activation: layer.activation,
        inputs: width,
        epsilon,
    };
    let constants = [&norm.constants[..], &[("KEEPS", f64::from(keeps))]].concat();
    Some(Dispatch::new(kernel, constants, &params, linear.workgroups))
}
