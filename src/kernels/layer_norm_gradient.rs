//! The gradients of a normalization ([`layer_norm`](super::layer_norm)): of z = x + residual, which both addends have,
//! and of γ. The gradient of β is [`column_sums`](super::column_sums) of dy.

use super::column_sums::workgroups;
use super::layer_norm::LayerNormShape;
use super::shares::Shares;
use super::{Access, Dispatch, Kernel, fold};

/// One workgroup per row.
pub static LAYER_NORM_GRADIENT: Kernel = Kernel {
    name: "layer_norm_gradient",
    wgsl: wgsl!("layer_norm_gradient" + "layer_norm_gradient" + "reduce" + "grid"),
    storage: &[
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Write,
        Access::Write,
    ],
    params: LayerNormGradientParams::FIELDS,
};

/// Four quads of columns per workgroup.
pub static LAYER_NORM_WEIGHT_GRADIENT: Kernel = Kernel {
    name: "layer_norm_weight_gradient",
    wgsl: wgsl!("layer_norm_weight_gradient" + "layer_norm_gradient" + "row_shares" + "reduce_rows" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Read, Access::Read, Access::Write],
    params: LayerNormGradientParams::FIELDS,
};

params! {
    /// Group 1 of both kernels.
    pub struct LayerNormGradientParams {
        /// Rows of x.
        pub rows: u32,
        /// Elements per row, without padding.
        pub width: u32,
        /// Number added to the variance.
        pub epsilon: f32,
        /// Whether there is a residual.
        pub has_residual: u32,
        /// 1 for layer norm, 0 for RMS norm.
        pub centered: u32,
        /// Whether there is an addend.
        pub has_earlier: u32,
        /// Rows that a workgroup adds up for the gradient of γ.
        pub share_rows: u32,
        /// Shares of them.
        pub shares: u32,
    }
}

fn params(shape: &LayerNormShape, earlier: bool, shares: Shares) -> LayerNormGradientParams {
    LayerNormGradientParams {
        rows: shape.rows as u32,
        width: shape.width as u32,
        epsilon: shape.epsilon,
        has_residual: shape.residual.into(),
        centered: shape.centered.into(),
        has_earlier: earlier.into(),
        share_rows: shares.length as u32,
        shares: shares.count as u32,
    }
}

/// The gradient of z, plus `earlier` if it is there; and the mean and 1 / σ of each row.
///
/// * storage: x, residual, dy `[rows, width]`, γ `[width]`, earlier, dz `[rows, width]`, statistics `[rows, 2]`
/// * any other buffer than the last two can be bound for a residual or an addend that is not there
pub fn dispatch(shape: &LayerNormShape, earlier: bool) -> Dispatch {
    let params = params(shape, earlier, Shares::new(shape.rows, 1));
    Dispatch::new(&LAYER_NORM_GRADIENT, Vec::new(), &params, fold(shape.rows, 1))
}

/// Adds the gradient of γ. The statistics are those that [`dispatch`] wrote.
///
/// * storage: x, residual, dy `[rows, width]`, statistics `[rows, 2]`, γ gradient `[width]`
/// * with several shares of the rows, as those of [`column_sums`](super::column_sums), the last are the sums of each
pub fn weight_dispatch(shape: &LayerNormShape, shares: Shares) -> Dispatch {
    let workgroups = workgroups(shape.width, shares);
    Dispatch::new(&LAYER_NORM_WEIGHT_GRADIENT, Vec::new(), &params(shape, false, shares), workgroups)
}
