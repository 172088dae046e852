//! The gradients of a linear layer's product `scale · x · Wᵀ`: of its input, `dx = earlier + scale · dy · W`, and of its
//! weights, `dW += scale · dyᵀ · x`. Weights are f32, and their gradient has the same panels.
//!
//! Workgroups [share out](super::shares) the summands of each tile if there are few tiles.

use std::ops::Range;

use super::shares::Shares;
use super::{Access, AdapterClass, Dispatch, Kernel, PANEL, fold, stride};

/// A tile of 64 rows and 64 inputs per workgroup.
pub static LINEAR_INPUT_GRADIENT: Kernel = Kernel {
    name: "linear_input_gradient",
    wgsl: wgsl!("linear_input_gradient" + "input_gradient" + "weights_f32" + "multiply_add" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Read, Access::Write],
    params: LinearInputGradientParams::FIELDS,
};

/// A tile of 64 outputs and 64 inputs per workgroup.
pub static LINEAR_WEIGHT_GRADIENT: Kernel = Kernel {
    name: "linear_weight_gradient",
    wgsl: wgsl!("linear_weight_gradient" + "weight_gradient" + "multiply_add" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Write],
    params: LinearWeightGradientParams::FIELDS,
};

params! {
    /// Group 1 of the gradients of the input. A *quad* is four neighbouring elements.
    pub struct LinearInputGradientParams {
        /// Rows of dy and dx.
        pub rows: u32,
        /// Elements per row of dx, without padding.
        pub inputs: u32,
        /// Quads in a row of dx.
        pub input_quads: u32,
        /// Quads in a row of dy.
        pub output_quads: u32,
        /// First quad of dy that this part of the weights multiplies.
        pub first_quad: u32,
        /// Quads of this part.
        pub part_quads: u32,
        /// Factor of the product.
        pub scale: f32,
        /// 0: nothing, 1: the buffer `earlier`, 2: what dx holds.
        pub earlier: u32,
        /// Quads of dy that a workgroup adds up.
        pub share_quads: u32,
    }
}

params! {
    /// Group 1 of the gradients of the weights.
    pub struct LinearWeightGradientParams {
        /// Rows of dy and x.
        pub rows: u32,
        /// Elements per row of x, without padding.
        pub inputs: u32,
        /// Quads in a row of x.
        pub input_quads: u32,
        /// Quads in a row of dy.
        pub output_quads: u32,
        /// First quad of dy in this part of the weights.
        pub first_quad: u32,
        /// Outputs of this part.
        pub part_outputs: u32,
        /// Factor of the product.
        pub scale: f32,
        /// Rows that a workgroup adds up.
        pub share_rows: u32,
        /// Shares of the rows.
        pub shares: u32,
    }
}

/// Shape of a linear layer's gradients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearGradientShape {
    /// Rows of x and dy.
    pub rows: usize,
    /// Input features.
    pub inputs: usize,
    /// Output features.
    pub outputs: usize,
    /// Factor of the product.
    pub scale: f32,
}

/// An addend of the gradient of a linear layer's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Earlier {
    /// Nothing.
    Nothing,
    /// The buffer `earlier`.
    Buffer,
    /// The content of dx: the sum over the parts of the weights before this one.
    Output,
}

impl Earlier {
    pub(super) const fn code(self) -> u32 {
        match self {
            Self::Nothing => 0,
            Self::Buffer => 1,
            Self::Output => 2,
        }
    }
}

/// Elements of a tile's side.
const TILE: usize = 64;

impl LinearGradientShape {
    fn check(&self, part: &Range<usize>) {
        assert!(part.start.is_multiple_of(PANEL) && part.end <= self.outputs, "outputs {part:?} of {self:?}");
    }

    fn input_tiles(&self) -> usize {
        self.rows.div_ceil(TILE) * self.inputs.div_ceil(TILE)
    }

    fn weight_tiles(&self, part: &Range<usize>) -> usize {
        part.len().div_ceil(PANEL) * self.inputs.div_ceil(TILE)
    }

    /// How the outputs `part` are shared out for the gradient of the input.
    pub fn input_shares(&self, part: &Range<usize>, class: AdapterClass) -> Shares {
        Shares::choose(part.len(), self.input_tiles(), class)
    }

    /// How the rows are shared out for the gradient of the weights of the outputs `part`.
    pub fn weight_shares(&self, part: &Range<usize>, class: AdapterClass) -> Shares {
        Shares::choose(self.rows, self.weight_tiles(part), class)
    }

    /// Elements of a gradient of the input.
    pub fn input_elements(&self) -> usize {
        self.rows * stride(self.inputs)
    }

    /// Elements of a gradient of the weights of the outputs `part`, in panels.
    pub fn weight_elements(&self, part: &Range<usize>) -> usize {
        part.len().next_multiple_of(PANEL) * stride(self.inputs)
    }
}

/// The gradient of the input, from the outputs `part`, which starts at a multiple of [`PANEL`].
///
/// * storage: dy `[rows, outputs]`, weight (f32 panels of `part`), earlier `[rows, inputs]`, dx `[shares, rows, inputs]`
/// * with several shares, `earlier` is [`Earlier::Nothing`], and [`sum_shares`](super::sum_shares) follows
/// * without [`Earlier::Buffer`], any other buffer than dx can be bound for `earlier`
pub fn input_dispatch(
    shape: &LinearGradientShape,
    part: Range<usize>,
    earlier: Earlier,
    shares: Shares,
) -> Dispatch {
    shape.check(&part);
    assert!(shares.count == 1 || earlier == Earlier::Nothing, "{earlier:?} of {} shares", shares.count);
    let params = LinearInputGradientParams {
        rows: shape.rows as u32,
        inputs: shape.inputs as u32,
        input_quads: (stride(shape.inputs) / 4) as u32,
        output_quads: (stride(shape.outputs) / 4) as u32,
        first_quad: (part.start / 4) as u32,
        part_quads: part.len().div_ceil(4) as u32,
        scale: shape.scale,
        earlier: earlier.code(),
        share_quads: (shares.length / 4) as u32,
    };
    let workgroups = fold(shape.input_tiles() * shares.count, 1);
    Dispatch::new(&LINEAR_INPUT_GRADIENT, Vec::new(), &params, workgroups)
}

/// Adds the gradient of the weights of the outputs `part`, which starts at a multiple of [`PANEL`]. Padding stays zero.
///
/// * storage: dy `[rows, outputs]`, x `[rows, inputs]`, weight gradient (f32 panels of `part`)
/// * with several shares, the last is their sums `[shares]` of such panels, which are not added to it, and
///   [`sum_shares`](super::sum_shares) follows
pub fn weight_dispatch(shape: &LinearGradientShape, part: Range<usize>, shares: Shares) -> Dispatch {
    shape.check(&part);
    let params = LinearWeightGradientParams {
        rows: shape.rows as u32,
        inputs: shape.inputs as u32,
        input_quads: (stride(shape.inputs) / 4) as u32,
        output_quads: (stride(shape.outputs) / 4) as u32,
        first_quad: (part.start / 4) as u32,
        part_outputs: part.len() as u32,
        scale: shape.scale,
        share_rows: shares.length as u32,
        shares: shares.count as u32,
    };
    let workgroups = fold(shape.weight_tiles(&part) * shares.count, 1);
    Dispatch::new(&LINEAR_WEIGHT_GRADIENT, Vec::new(), &params, workgroups)
}
