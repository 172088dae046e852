//! `y = (z - mean) / √(variance + ε) * γ + β` with `z = x + residual`. Ba et al. 2016; Vaswani et al. 2017, section
//! 3.1. Without centring: RMS normalization, no mean and no β. Zhang & Sennrich 2019, eq. (4).

use super::{Access, AdapterClass, Dispatch, Kernel, fold};

const STORAGE: &[Access] = &[Access::Read, Access::Read, Access::Read, Access::Read, Access::Write];

/// One invocation per row, without barriers.
pub static LAYER_NORM: Kernel = Kernel {
    name: "layer_norm",
    wgsl: wgsl!("layer_norm_invocation" + "layer_norm" + "grid"),
    storage: STORAGE,
    params: LayerNormParams::FIELDS,
};

/// One workgroup per row.
pub static LAYER_NORM_WORKGROUP: Kernel = Kernel {
    name: "layer_norm_workgroup",
    wgsl: wgsl!("layer_norm_workgroup" + "layer_norm" + "reduce" + "grid"),
    storage: STORAGE,
    params: LayerNormParams::FIELDS,
};

params! {
    /// Group 1 of both kernels.
    pub struct LayerNormParams {
        /// Rows of x and y.
        pub rows: u32,
        /// Elements per row, without padding.
        pub width: u32,
        /// Number added to the variance.
        pub epsilon: f32,
    }
}

/// Shape and switches of a normalization.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerNormShape {
    /// Rows of x and y.
    pub rows: usize,
    /// Elements per row.
    pub width: usize,
    /// Number added to the variance.
    pub epsilon: f32,
    /// Whether there is a residual.
    pub residual: bool,
    /// True for layer norm, false for RMS norm.
    pub centered: bool,
}

/// The normalization kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// [`LAYER_NORM`]
    Invocation,
    /// [`LAYER_NORM_WORKGROUP`]
    Workgroup,
}

impl Variant {
    /// All variants.
    pub const ALL: [Self; 2] = [Self::Invocation, Self::Workgroup];
}

pub(super) fn is_norm(kernel: &Kernel) -> bool {
    [LAYER_NORM.name, LAYER_NORM_WORKGROUP.name].contains(&kernel.name)
}

/// Picks a workgroup per row if barriers are cheap.
pub fn choose(class: AdapterClass) -> Variant {
    if class.is_software() { Variant::Invocation } else { Variant::Workgroup }
}

/// Normalizes. Storage: x, residual `[rows, width]`, γ, β `[width]`, y `[rows, width]`.
pub fn dispatch(shape: &LayerNormShape, class: AdapterClass) -> Dispatch {
    dispatch_variant(shape, choose(class))
}

/// [`dispatch`] with a given kernel, for tests and measurements.
pub fn dispatch_variant(shape: &LayerNormShape, variant: Variant) -> Dispatch {
    let params =
        LayerNormParams { rows: shape.rows as u32, width: shape.width as u32, epsilon: shape.epsilon };
    let constants =
        vec![("HAS_RESIDUAL", f64::from(shape.residual)), ("CENTERED", f64::from(shape.centered))];
    let (kernel, workgroups) = match variant {
        Variant::Invocation => (&LAYER_NORM, fold(shape.rows, 8)),
        Variant::Workgroup => (&LAYER_NORM_WORKGROUP, fold(shape.rows, 1)),
    };
    Dispatch::new(kernel, constants, &params, workgroups)
}
