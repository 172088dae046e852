//! `y = act(z)` or `act(z) ⊙ factor`, and its gradient `dz = dy (⊙ factor) ⊙ act'(z)`.

use super::linear::activation_code;
use super::{Access, Dispatch, Kernel, fold, stride};
use crate::activation::Activation;

/// Four elements per invocation.
pub static ACTIVATE: Kernel = Kernel {
    name: "activate",
    wgsl: wgsl!("activate" + "activation" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Read, Access::Write],
    params: ActivateParams::FIELDS,
};

/// Four elements per invocation.
pub static ACTIVATE_GRADIENT: Kernel = Kernel {
    name: "activate_gradient",
    wgsl: wgsl!("activate_gradient" + "activation_gradient" + "activation" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Read, Access::Read, Access::Write],
    params: ActivateParams::FIELDS,
};

params! {
    /// Group 1 of both kernels.
    pub struct ActivateParams {
        /// Rows of each value.
        pub rows: u32,
        /// Elements per row, without padding.
        pub width: u32,
        /// See `shared/activation.wgsl`.
        pub activation: u32,
        /// Whether there is a factor.
        pub has_factor: u32,
        /// Whether there is an addend.
        pub has_earlier: u32,
    }
}

/// Shape and switches of an activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActivateShape {
    /// Rows of each value.
    pub rows: usize,
    /// Elements per row.
    pub width: usize,
    /// The function.
    pub activation: Activation,
    /// Whether the result is multiplied by a factor: a gate.
    pub factor: bool,
    /// Whether `earlier` is added.
    pub earlier: bool,
}

impl ActivateShape {
    fn params(&self) -> ActivateParams {
        ActivateParams {
            rows: self.rows as u32,
            width: self.width as u32,
            activation: activation_code(self.activation),
            has_factor: self.factor.into(),
            has_earlier: self.earlier.into(),
        }
    }

    fn workgroups(&self) -> [u32; 3] {
        fold(self.rows * stride(self.width) / 4, 64)
    }
}

/// `y = earlier + act(z) ⊙ factor`. With dy for the factor, y is the gradient of the factor.
///
/// * storage: z, factor, earlier, y, each `[rows, width]`
/// * any other buffer than y can be bound for a factor or an addend that is not there
pub fn dispatch(shape: &ActivateShape) -> Dispatch {
    Dispatch::new(&ACTIVATE, Vec::new(), &shape.params(), shape.workgroups())
}

/// `dz = earlier + dy ⊙ factor ⊙ act'(z)`. The derivative of ReLU at 0 is 0.
///
/// * storage: dy, z, factor, earlier, dz, each `[rows, width]`
/// * any other buffer than dz can be bound for a factor or an addend that is not there
pub fn gradient_dispatch(shape: &ActivateShape) -> Dispatch {
    Dispatch::new(&ACTIVATE_GRADIENT, Vec::new(), &shape.params(), shape.workgroups())
}
