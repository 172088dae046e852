//! The gradients of a linear layer's product `scale · x · Wᵀ`: of its input, `dx = earlier + scale · dy · W`, and of its
//! weights, `dW += scale · dyᵀ · x`. Weights are f32, and their gradient has the same panels.

use std::ops::Range;

use super::{Access, AdapterClass, Dispatch, Kernel, PANEL, fold, stride};

/// A tile of 64 rows and 64 inputs per workgroup.
pub static LINEAR_INPUT_GRADIENT: Kernel = Kernel {
    name: "linear_input_gradient",
    wgsl: wgsl!("linear_input_gradient" + "input_gradient" + "weights_f32" + "multiply_add" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Read, Access::Write],
    params: LinearInputGradientParams::FIELDS,
};

/// 64 rows and 16 inputs per workgroup, whose lanes share the outputs: for values of few tiles.
pub static LINEAR_INPUT_GRADIENT_SLICES: Kernel = Kernel {
    name: "linear_input_gradient_slices",
    wgsl: wgsl!("linear_input_gradient_slices" + "input_gradient" + "weights_f32" + "multiply_add" + "grid"),
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

/// 64 outputs and 16 inputs per workgroup, whose lanes share the rows: for matrices of few tiles.
pub static LINEAR_WEIGHT_GRADIENT_SLICES: Kernel = Kernel {
    name: "linear_weight_gradient_slices",
    wgsl: wgsl!("linear_weight_gradient_slices" + "weight_gradient" + "grid"),
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

/// The ways to share a gradient out among workgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// Tiles of 64 × 64 elements: [`LINEAR_INPUT_GRADIENT`], [`LINEAR_WEIGHT_GRADIENT`].
    Tiles,
    /// Tiles of 64 × 16 elements, whose lanes share the summands: [`LINEAR_INPUT_GRADIENT_SLICES`],
    /// [`LINEAR_WEIGHT_GRADIENT_SLICES`].
    Slices,
}

impl Variant {
    /// All variants.
    pub const ALL: [Self; 2] = [Self::Tiles, Self::Slices];

    /// Workgroups for a gradient of `rows` rows of x, or outputs of a matrix, and so many inputs.
    fn workgroups(self, rows: usize, inputs: usize) -> usize {
        let inputs_of_tile = match self {
            Self::Tiles => 64,
            Self::Slices => 16,
        };
        rows.div_ceil(64) * inputs.div_ceil(inputs_of_tile)
    }
}

/// Minimum workgroups that keep a large GPU busy.
const BUSY_FROM: usize = 512;

/// Picks the variant for a gradient of `rows` rows of x, or outputs of a matrix, and so many inputs: tiles, which read
/// least, if there are enough of them. A software adapter has few cores to keep busy.
pub fn choose(rows: usize, inputs: usize, class: AdapterClass) -> Variant {
    let busy = Variant::Tiles.workgroups(rows, inputs) >= BUSY_FROM;
    if busy || class.is_software() { Variant::Tiles } else { Variant::Slices }
}

impl LinearGradientShape {
    fn check(&self, part: &Range<usize>) {
        assert!(part.start.is_multiple_of(PANEL) && part.end <= self.outputs, "outputs {part:?} of {self:?}");
    }
}

/// The gradient of the input, from the outputs `part`, which starts at a multiple of [`PANEL`].
///
/// * storage: dy `[rows, outputs]`, weight (f32 panels of `part`), earlier `[rows, inputs]`, dx `[rows, inputs]`
/// * without [`Earlier::Buffer`], any other buffer than dx can be bound for `earlier`
pub fn input_dispatch(
    shape: &LinearGradientShape,
    part: Range<usize>,
    earlier: Earlier,
    class: AdapterClass,
) -> Dispatch {
    input_dispatch_variant(shape, part, earlier, choose(shape.rows, shape.inputs, class))
}

/// [`input_dispatch`] with a given kernel, for tests and measurements.
pub fn input_dispatch_variant(
    shape: &LinearGradientShape,
    part: Range<usize>,
    earlier: Earlier,
    variant: Variant,
) -> Dispatch {
    shape.check(&part);
    let input_quads = stride(shape.inputs) / 4;
    let params = LinearInputGradientParams {
        rows: shape.rows as u32,
        inputs: shape.inputs as u32,
        input_quads: input_quads as u32,
        output_quads: (stride(shape.outputs) / 4) as u32,
        first_quad: (part.start / 4) as u32,
        part_quads: part.len().div_ceil(4) as u32,
        scale: shape.scale,
        earlier: match earlier {
            Earlier::Nothing => 0,
            Earlier::Buffer => 1,
            Earlier::Output => 2,
        },
    };
    let kernel = match variant {
        Variant::Tiles => &LINEAR_INPUT_GRADIENT,
        Variant::Slices => &LINEAR_INPUT_GRADIENT_SLICES,
    };
    Dispatch::new(kernel, Vec::new(), &params, fold(variant.workgroups(shape.rows, shape.inputs), 1))
}

/// Adds the gradient of the weights of the outputs `part`, which starts at a multiple of [`PANEL`]. Padding stays zero.
///
/// * storage: dy `[rows, outputs]`, x `[rows, inputs]`, weight gradient (f32 panels of `part`)
pub fn weight_dispatch(shape: &LinearGradientShape, part: Range<usize>, class: AdapterClass) -> Dispatch {
    let variant = choose(part.len(), shape.inputs, class);
    weight_dispatch_variant(shape, part, variant)
}

/// [`weight_dispatch`] with a given kernel, for tests and measurements.
pub fn weight_dispatch_variant(
    shape: &LinearGradientShape,
    part: Range<usize>,
    variant: Variant,
) -> Dispatch {
    shape.check(&part);
    let input_quads = stride(shape.inputs) / 4;
    let params = LinearWeightGradientParams {
        rows: shape.rows as u32,
        inputs: shape.inputs as u32,
        input_quads: input_quads as u32,
        output_quads: (stride(shape.outputs) / 4) as u32,
        first_quad: (part.start / 4) as u32,
        part_outputs: part.len() as u32,
        scale: shape.scale,
    };
    let kernel = match variant {
        Variant::Tiles => &LINEAR_WEIGHT_GRADIENT,
        Variant::Slices => &LINEAR_WEIGHT_GRADIENT_SLICES,
    };
    Dispatch::new(kernel, Vec::new(), &params, fold(variant.workgroups(part.len(), shape.inputs), 1))
}
