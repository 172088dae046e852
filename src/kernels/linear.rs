//! `y = activation(scale·x·Wᵀ + b)`, then `y + z` or `y ⊙ z`: every projection, feed-forward layer and the output layer.
//!
//! Four kernels compute it. All of them sum over the inputs in ascending order, one fused multiply–add at a time
//! (`shared/multiply_add.wgsl`), so that a row's result does not depend on how many other rows there are.

use std::ops::Range;

use super::{Access, AdapterClass, Dispatch, Kernel, PANEL, fold, stride};
use crate::activation::Activation;
use crate::join::Join;

const STORAGE: &[Access] = &[Access::Read, Access::Read, Access::Read, Access::Read, Access::Write];

/// One row, four outputs per invocation: reads each weight once, and nothing else matters.
pub static MATVEC: Kernel = Kernel {
    name: "matvec",
    wgsl: wgsl!("matvec" + "linear" + "multiply_add" + "activation" + "grid"),
    storage: STORAGE,
    params: LinearParams::FIELDS,
};

/// Four rows (the beams of a sentence), four outputs per invocation: reads each weight once for all of them.
pub static MATVEC_4ROWS: Kernel = Kernel {
    name: "matvec_4rows",
    wgsl: wgsl!("matvec_4rows" + "linear" + "multiply_add" + "activation" + "grid"),
    storage: STORAGE,
    params: LinearParams::FIELDS,
};

/// Eight rows, eight outputs per invocation, everything in registers: no barriers, which software adapters pay dearly.
pub static MATMUL_REGISTERS: Kernel = Kernel {
    name: "matmul_registers",
    wgsl: wgsl!("matmul_registers" + "linear" + "multiply_add" + "activation" + "grid"),
    storage: STORAGE,
    params: LinearParams::FIELDS,
};

/// A tile of 64 rows and 64 outputs per workgroup, staged through workgroup memory: many rows on a GPU.
pub static MATMUL_TILED: Kernel = Kernel {
    name: "matmul_tiled",
    wgsl: wgsl!("matmul_tiled" + "linear" + "multiply_add" + "activation" + "grid"),
    storage: STORAGE,
    params: LinearParams::FIELDS,
};

params! {
    /// Group 1 of the four kernels. A *quad* is four neighbouring elements.
    pub struct LinearParams {
        /// Rows of x and y.
        pub rows: u32,
        /// Quads in a row of x, and a fourth of the rows of a panel.
        pub input_quads: u32,
        /// First quad of y that this part of the weights computes.
        pub first_quad: u32,
        /// How many quads it computes.
        pub part_quads: u32,
        /// Outputs of all parts together.
        pub outputs: u32,
        /// Factor of the product.
        pub scale: f32,
    }
}

/// What a linear layer computes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearShape {
    /// Rows of x and y.
    pub rows: usize,
    /// Input features.
    pub inputs: usize,
    /// Output features.
    pub outputs: usize,
    /// Factor of the product.
    pub scale: f32,
    /// Whether there is a bias.
    pub bias: bool,
    /// Applied before the join.
    pub activation: Activation,
    /// How z is joined, if there is one.
    pub join: Option<Join>,
}

/// A kernel that computes a linear layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// [`MATVEC`]
    Matvec,
    /// [`MATVEC_4ROWS`]
    Matvec4Rows,
    /// [`MATMUL_REGISTERS`]
    MatmulRegisters,
    /// [`MATMUL_TILED`]
    MatmulTiled,
}

impl Variant {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Matvec, Self::Matvec4Rows, Self::MatmulRegisters, Self::MatmulTiled];
}

/// The kernel for `rows` rows.
///
/// | rows | software | hardware |
/// |---|---|---|
/// | 1 | `matvec` | `matvec` |
/// | 2–4 | `matvec_4rows` | `matvec_4rows` |
/// | 5–16 | `matmul_registers` | `matvec_4rows` |
/// | more | `matmul_registers` | `matmul_tiled` |
pub fn choose(rows: usize, class: AdapterClass) -> Variant {
    match (class, rows) {
        (_, 0..=1) => Variant::Matvec,
        (_, 2..=4) | (AdapterClass::Hardware, 5..=16) => Variant::Matvec4Rows,
        (AdapterClass::Software, _) => Variant::MatmulRegisters,
        (AdapterClass::Hardware, _) => Variant::MatmulTiled,
    }
}

/// The launch that computes the outputs `part`, a range that starts at a multiple of [`PANEL`].
///
/// * storage: x `[rows, inputs]`, weight (panels of `part`), bias `[outputs]`, z and y `[rows, outputs]`
pub fn dispatch(shape: &LinearShape, part: Range<usize>, class: AdapterClass) -> Dispatch {
    dispatch_variant(shape, part, choose(shape.rows, class), class)
}

/// [`dispatch`] with a kernel of one's own choice: for tests and measurements.
pub fn dispatch_variant(
    shape: &LinearShape,
    part: Range<usize>,
    variant: Variant,
    class: AdapterClass,
) -> Dispatch {
    assert!(part.start.is_multiple_of(PANEL) && part.end <= shape.outputs, "outputs {part:?} of {shape:?}");
    let part_quads = part.len().div_ceil(4);
    let panels = part.len().div_ceil(PANEL);
    let params = LinearParams {
        rows: shape.rows as u32,
        input_quads: (stride(shape.inputs) / 4) as u32,
        first_quad: (part.start / 4) as u32,
        part_quads: part_quads as u32,
        outputs: shape.outputs as u32,
        scale: shape.scale,
    };
    let mut constants = vec![
        ("HAS_BIAS", f64::from(shape.bias)),
        ("ACTIVATION", f64::from(activation_code(shape.activation))),
        ("JOIN", f64::from(join_code(shape.join))),
    ];
    // Few lanes on a CPU, so that a small layer still makes work for all of its cores.
    let lanes = match class {
        AdapterClass::Software => 8,
        AdapterClass::Hardware => 64,
    };
    let groups_of_quads = part_quads.div_ceil(lanes as usize);
    let (kernel, workgroups) = match variant {
        Variant::Matvec => (&MATVEC, fold(shape.rows * groups_of_quads, 1)),
        Variant::Matvec4Rows => (&MATVEC_4ROWS, fold(shape.rows.div_ceil(4) * groups_of_quads, 1)),
        Variant::MatmulRegisters => (&MATMUL_REGISTERS, fold(shape.rows.div_ceil(8) * panels, 1)),
        Variant::MatmulTiled => (&MATMUL_TILED, fold(shape.rows.div_ceil(64) * panels, 1)),
    };
    if matches!(variant, Variant::Matvec | Variant::Matvec4Rows) {
        constants.push(("LANES", f64::from(lanes)));
    }
    Dispatch::new(kernel, constants, &params, workgroups)
}

/// The value of `ACTIVATION` in `shared/activation.wgsl`.
const fn activation_code(activation: Activation) -> u32 {
    match activation {
        Activation::Identity => 0,
        Activation::Relu => 1,
        Activation::Gelu => 2,
        Activation::GeluTanh => 3,
        Activation::QuickGelu => 4,
        Activation::Silu => 5,
        Activation::Sigmoid => 6,
        Activation::Tanh => 7,
    }
}

/// The value of `JOIN` in `shared/linear.wgsl`.
const fn join_code(join: Option<Join>) -> u32 {
    match join {
        None => 0,
        Some(Join::Add) => 1,
        Some(Join::Multiply) => 2,
    }
}
