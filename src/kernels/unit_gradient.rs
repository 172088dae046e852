//! The [gradients of linear layers](super::linear_gradient) on [matrix units](super::matrix_units): every operand is a sum of two f16,
//! and three of the four products count.
//!
//! A gradient's numbers can be of any size, and f16's cannot. So the largest of them, which a launch before finds, decides on the power
//! of two that all are multiplied with.

use super::linear_gradient::{LINEAR_INPUT_GRADIENT, LINEAR_WEIGHT_GRADIENT};
use super::linear_gradient::{LinearInputGradientParams, LinearWeightGradientParams};
use super::{Access, Dispatch, Kernel, fold};

/// The largest absolute numbers of [`SHARES`] shares of a matrix.
pub static LARGEST: Kernel = Kernel {
    name: "largest",
    wgsl: wgsl!("largest" + "reduce" + "grid"),
    storage: &[Access::Read, Access::Write],
    params: LargestParams::FIELDS,
};

/// A tile of 64 rows and 64 inputs per workgroup.
pub static INPUT: Kernel = Kernel {
    name: "linear_input_gradient_units",
    wgsl: wgsl!(
        "linear_input_gradient_units"
            + "unit_gradient"
            + "matrix_units"
            + "input_gradient"
            + "weights_f32"
            + "grid"
    ),
    storage: &[Access::Read, Access::Read, Access::Read, Access::Write, Access::Read],
    params: LinearInputGradientParams::FIELDS,
};

/// A tile of 64 inputs and 64 outputs per workgroup.
pub static WEIGHT: Kernel = Kernel {
    name: "linear_weight_gradient_units",
    wgsl: wgsl!(
        "linear_weight_gradient_units" + "unit_gradient" + "matrix_units" + "weight_gradient" + "grid"
    ),
    storage: &[Access::Read, Access::Read, Access::Write, Access::Read],
    params: LinearWeightGradientParams::FIELDS,
};

params! {
    /// Group 1 of [`LARGEST`].
    pub struct LargestParams {
        /// Quads of the matrix.
        pub quads: u32,
    }
}

/// Shares of a matrix whose largest numbers are found: enough to keep a GPU busy.
pub const SHARES: usize = 256;

/// Tiles from which units are faster than lanes, and rows, inputs and outputs that fill them.
const ENOUGH_TILES: usize = 96;
const SIDE: u32 = 64;

/// The largest numbers of a matrix of `elements` elements, a multiple of four.
///
/// * storage: matrix f32 `[elements]`, largest f32 `[SHARES]`
pub fn largest_dispatch(elements: usize) -> Dispatch {
    let params = LargestParams { quads: (elements / 4) as u32 };
    Dispatch::new(&LARGEST, Vec::new(), &params, fold(SHARES, 1))
}

/// The same gradient on matrix units; `None` for few tiles, or a tile's side that has few numbers.
///
/// * storage: the same, then the [largest numbers](largest_dispatch) of dy `[SHARES]`
pub fn dispatch(gradient: &Dispatch) -> Option<Dispatch> {
    let tiles: usize = gradient.workgroups.iter().map(|&count| count as usize).product();
    let sides = if std::ptr::eq(gradient.kernel, &LINEAR_INPUT_GRADIENT) {
        let params: LinearInputGradientParams = gradient.read_params();
        [params.rows, params.inputs, 4 * params.part_quads]
    } else {
        let params: LinearWeightGradientParams = gradient.read_params();
        [params.rows, params.inputs, params.part_outputs]
    };
    let pays = tiles >= ENOUGH_TILES && sides.into_iter().all(|side| side >= SIDE);
    pays.then(|| on_units(gradient))
}

/// [`dispatch`] for any gradient: for tests.
pub fn on_units(gradient: &Dispatch) -> Dispatch {
    let kernel = if std::ptr::eq(gradient.kernel, &LINEAR_INPUT_GRADIENT) {
        &INPUT
    } else {
        assert!(std::ptr::eq(gradient.kernel, &LINEAR_WEIGHT_GRADIENT), "{}", gradient.kernel.name);
        &WEIGHT
    };
    Dispatch { kernel, ..gradient.clone() }
}
