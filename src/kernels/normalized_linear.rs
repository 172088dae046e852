//! `y = activation(scale·n·Wᵀ + b)`, n the layer norm or RMS norm of `x + residual`, in one launch. It pays if a launch
//! costs more than a row's statistics in every workgroup: on GPUs with few rows. Otherwise it stays a
//! [`layer_norm`](super::layer_norm) and a [`linear`](super::linear).

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

/// [`MATVEC_SPLIT`](super::linear::MATVEC_SPLIT) with normalized inputs.
pub static MATVEC_SPLIT: ByPrecision =
    linear_kernels!("normalized_", "matvec_split" + "normalized_inputs" + "split_sums", STORAGE);

/// [`MATVEC_4ROWS_SPLIT`](super::linear::MATVEC_4ROWS_SPLIT) with normalized inputs.
pub static MATVEC_4ROWS_SPLIT: ByPrecision =
    linear_kernels!("normalized_", "matvec_4rows_split" + "normalized_inputs" + "split_sums", STORAGE);

/// Maximum panels of a fused layer: each has up to four workgroups, which compute the statistics again. Layers of a stack have
/// fewer, a large vocabulary has more.
const MOST_PANELS: u32 = 128;

/// Fuses a norm with a linear layer. `None` if two launches are faster, or if the layer has a join: its operand would
/// be the ninth storage buffer, and WebGPU allows eight.
///
/// * `keeps`: whether the normalized inputs are also stored; of a layer in parts, the first part stores them
/// * storage: x `[rows, inputs]`, weight (panels of the layer's part), bias `[outputs]`, residual `[rows, inputs]`, γ
///   and β `[inputs]`, y `[rows, outputs]`, normalized inputs `[rows, inputs]`
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
    let constants = [&norm.constants[..], &linear.constants[..], &[("KEEPS", f64::from(keeps))]].concat();
    Some(Dispatch::new(kernel, constants, &LinearParams { epsilon, ..layer }, linear.workgroups))
}
