//! The gradients of a normalization ([`layer_norm`](super::layer_norm)): of z = x + residual, which both addends have,
//! and of γ. The gradient of β is [`column_sums`](super::column_sums) of dy.

use super::column_sums::workgroups;
use super::layer_norm::LayerNormShape;
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
    wgsl: wgsl!("layer_norm_weight_gradient" + "layer_norm_gradient" + "reduce_rows" + "grid"),
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
    }
}

fn params(shape: &LayerNormShape, earlier: bool) -> LayerNormGradientParams {
    LayerNormGradientParams {
        rows: shape.rows as u32,
        width: shape.width as u32,
        epsilon: shape.epsilon,
        has_residual: shape.residual.into(),
        centered: shape.centered.into(),
        has_earlier: earlier.into(),
    }
}

/// The gradient of z, plus `earlier` if it is there; and the mean and 1 / σ of each row.
///
/// * storage: x, residual, dy `[rows, width]`, γ `[width]`, earlier, dz `[rows, width]`, statistics `[rows, 2]`
/// * any other buffer than the last two can be bound for a residual or an addend that is not there
pub fn dispatch(shape: &LayerNormShape, earlier: bool) -> Dispatch {
    Dispatch::new(&LAYER_NORM_GRADIENT, Vec::new(), &params(shape, earlier), fold(shape.rows, 1))
}

/// Adds the gradient of γ. The statistics are those that [`dispatch`] wrote.
///
/// * storage: x, residual, dy `[rows, width]`, statistics `[rows, 2]`, γ gradient `[width]`
pub fn weight_dispatch(shape: &LayerNormShape) -> Dispatch {
    let workgroups = workgroups(shape.width);
    Dispatch::new(&LAYER_NORM_WEIGHT_GRADIENT, Vec::new(), &params(shape, false), workgroups)
}
