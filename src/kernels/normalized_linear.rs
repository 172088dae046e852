//! `y = activation(scale·n·Wᵀ + b)` with n the layer norm or RMS norm of `x + residual`: a norm and the projection that reads
//! it in one launch, where a launch costs more than computing a row's statistics in every workgroup. That is on GPUs, while
//! there are few rows; elsewhere it is a [`layer_norm`](super::layer_norm) and a [`linear`](super::linear).

use super::layer_norm::{LayerNormParams, is_norm};
use super::linear::{self, LinearParams, linear_kernels};
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
pub static MATVEC_SPLIT: ByPrecision =
    linear_kernels!("normalized_", "matvec_split" + "normalized_inputs", STORAGE);

/// [`MATVEC_4ROWS_SPLIT`](super::linear::MATVEC_4ROWS_SPLIT) of inputs that it normalizes.
pub static MATVEC_4ROWS_SPLIT: ByPrecision =
    linear_kernels!("normalized_", "matvec_4rows_split" + "normalized_inputs", STORAGE);

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
    let LayerNormParams { epsilon, .. } = norm.read_params();
    let layer: LinearParams = linear.read_params();
    if layer.join != 0 || layer.outputs.div_ceil(PANEL as u32) > MOST_PANELS {
        return None;
    }
    let constants = [&norm.constants[..], &[("KEEPS", f64::from(keeps))]].concat();
    Some(Dispatch::new(kernel, constants, &LinearParams { epsilon, ..layer }, linear.workgroups))
}
