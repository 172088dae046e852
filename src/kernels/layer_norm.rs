//! `y = (z - mean) / √(variance + ε) * γ + β` with `z = x + residual`.  Ba et al. 2016; Vaswani et al. 2017, section 3.1.
//! Without centring it is RMS normalization: no mean, no β.  Zhang & Sennrich 2019, eq. (4).

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
        /// Elements of a row that count.
        pub width: u32,
        /// Added to the variance.
        pub epsilon: f32,
    }
}

/// What a normalization computes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerNormShape {
    /// Rows of x and y.
    pub rows: usize,
    /// Elements of a row.
    pub width: usize,
    /// Added to the variance.
    pub epsilon: f32,
    /// Whether there is a residual.
    pub residual: bool,
    /// Layer norm; else RMS norm.
    pub centered: bool,
}

/// A kernel that normalizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// [`LAYER_NORM`]
    Invocation,
    /// [`LAYER_NORM_WORKGROUP`]
    Workgroup,
}

impl Variant {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Invocation, Self::Workgroup];
}

/// Whether a kernel is one of these.
pub(super) fn is_norm(kernel: &Kernel) -> bool {
    [LAYER_NORM.name, LAYER_NORM_WORKGROUP.name].contains(&kernel.name)
}

/// A workgroup per row where barriers are cheap.
pub fn choose(class: AdapterClass) -> Variant {
    if class.is_software() { Variant::Invocation } else { Variant::Workgroup }
}

/// The launch.
///
/// * storage: x, residual `[rows, width]`, γ, β `[width]`, y `[rows, width]`
pub fn dispatch(shape: &LayerNormShape, class: AdapterClass) -> Dispatch {
    dispatch_variant(shape, choose(class))
}

/// [`dispatch`] with a kernel of one's own choice: for tests and measurements.
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
