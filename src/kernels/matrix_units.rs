//! Linear layers on matrix units (tensor cores): `wgpu`'s cooperative matrices of 16 × 16, f16 operands and f32 sums.
//!
//! f16 takes nothing from weights of 16 or 8 bits, and little from the inputs: each is split into two f16, which keep 22 of
//! f32's 24 bits from 0.016 to 16 million; larger inputs become infinite, and smaller ones are multiples of 7 · 10⁻⁹. Weights in f32
//! are split, too: from 0.001 to a million, in steps of 5 · 10⁻¹⁰. Sums have another order than those of [`linear`](super::linear),
//! so a row's last bits differ from those with few rows, as they do with tiles.

use super::linear::{self, LinearParams};
use super::{Access, Dispatch, Kernel, PANEL, fold, unit_gradient};
use crate::precision::WeightPrecision;

const STORAGE: &[Access] = &[Access::Read, Access::Read, Access::Read, Access::Read, Access::Write];

/// A kernel for weights of 16 and of 8 bits.
macro_rules! kernels {
    ($prefix:literal, $kernel:literal) => {
        [kernels!($prefix, $kernel, "f16"), kernels!($prefix, $kernel, "q8")]
    };
    ($prefix:literal, $kernel:literal, $stored:tt) => {
        by_precision!(
            @one $prefix, $stored, $kernel + "unit_layer" + "matrix_units" + "linear" + "plain_inputs" + "activation" + "grid", STORAGE,
            LinearParams::FIELDS
        )
    };
}

/// A tile of 128 rows and 128 outputs per workgroup: reads operands least often.
pub static WIDE_MATMUL_UNITS: [Kernel; 2] = kernels!("wide_", "matmul_units");

/// A tile of 64 rows and 64 outputs per workgroup.
pub static MATMUL_UNITS: [Kernel; 2] = kernels!("", "matmul_units");

/// The same for weights in f32, which are a sum of two f16, too.
pub static MATMUL_UNITS_OF_FLOATS: Kernel = kernels!("", "matmul_units", "f32");

/// A tile of 32 rows and 32 outputs per workgroup, whose subgroups split the inputs: keeps a GPU busy with few tiles.
pub static MATMUL_UNITS_SPLIT: [Kernel; 2] = kernels!("", "matmul_units_split");

/// Bytes of workgroup memory that the kernels need, more than WebGPU's default: GPUs with matrix units have 48 KiB or more.
pub const WORKGROUP_BYTES: u32 = 46_080;

/// Invocations of the largest workgroup, also more than WebGPU's default.
pub const WORKGROUP_INVOCATIONS: u32 = 512;

/// The kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// [`WIDE_MATMUL_UNITS`]
    Wide,
    /// [`MATMUL_UNITS`]
    Tile,
    /// [`MATMUL_UNITS_SPLIT`]
    Split,
}

impl Variant {
    /// All variants, that with the largest tiles first.
    pub const ALL: [Self; 3] = [Self::Wide, Self::Tile, Self::Split];

    fn kernels(self) -> &'static [Kernel; 2] {
        match self {
            Self::Wide => &WIDE_MATMUL_UNITS,
            Self::Tile => &MATMUL_UNITS,
            Self::Split => &MATMUL_UNITS_SPLIT,
        }
    }

    /// Whether there is a kernel for such weights.
    fn has(self, precision: WeightPrecision) -> bool {
        precision != WeightPrecision::F32 || self == Self::Tile
    }

    /// Rows and outputs of a workgroup.
    const fn tile(self) -> usize {
        match self {
            Self::Wide => 2 * PANEL,
            Self::Tile => PANEL,
            Self::Split => PANEL / 2,
        }
    }

    fn tiles(self, layer: &LinearParams) -> usize {
        (layer.rows as usize).div_ceil(self.tile()) * (4 * layer.part_quads as usize).div_ceil(self.tile())
    }

    /// Whether so many rows fill the tiles: the widest save a fifth of the time, and rows of padding cost as much as others.
    fn is_filled(self, rows: usize) -> bool {
        let narrower = rows.next_multiple_of(PANEL);
        self != Self::Wide || 4 * rows.next_multiple_of(self.tile()) <= 5 * narrower
    }

    fn constants(self) -> Vec<(&'static str, f64)> {
        match self {
            Self::Wide | Self::Tile => vec![("TILE", self.tile() as f64)],
            Self::Split => Vec::new(),
        }
    }
}

/// Tiles from which a variant is faster than the next smaller one, and than lanes: three for every four cores of an H200.
const ENOUGH_TILES: usize = 96;

/// All kernels that need matrix units.
pub fn all() -> impl Iterator<Item = &'static Kernel> {
    let of_layers = Variant::ALL.into_iter().flat_map(Variant::kernels);
    let of_gradients = [&unit_gradient::LARGEST, &unit_gradient::INPUT, &unit_gradient::WEIGHT];
    of_layers.chain([&MATMUL_UNITS_OF_FLOATS]).chain(of_gradients)
}

/// The same layer on matrix units; `None` if it has too few tiles, or no kernel for many rows.
pub fn dispatch(layer: &Dispatch) -> Option<Dispatch> {
    let of_many_rows = [&linear::MATMUL_SPLIT, &linear::MATMUL_TILED];
    let precision = of_many_rows.iter().find_map(|it| it.precision_of(layer.kernel))?;
    let params = layer.read_params();
    let pays = |it: &Variant| {
        it.has(precision) && it.tiles(&params) >= ENOUGH_TILES && it.is_filled(params.rows as usize)
    };
    let variant = Variant::ALL.into_iter().find(pays)?;
    dispatch_variant(layer, variant)
}

/// [`dispatch`] with a given kernel, for any number of rows: for tests and measurements. `None` if it does not take these weights.
pub fn dispatch_variant(layer: &Dispatch, variant: Variant) -> Option<Dispatch> {
    let variants = linear::Variant::ALL.into_iter();
    let precision = variants.map(linear::Variant::kernels).find_map(|it| it.precision_of(layer.kernel))?;
    let kernel = match precision {
        _ if !variant.has(precision) => return None,
        WeightPrecision::F32 => &MATMUL_UNITS_OF_FLOATS,
        WeightPrecision::F16 => &variant.kernels()[0],
        WeightPrecision::Q8 => &variant.kernels()[1],
    };
    let params: LinearParams = layer.read_params();
    let workgroups = fold(variant.tiles(&params), 1);
    Some(Dispatch::new(kernel, variant.constants(), &params, workgroups))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::activation::Activation;
    use crate::kernels::AdapterClass;
    use crate::kernels::linear::LinearShape;

    #[test]
    fn layers_with_enough_tiles_of_exact_weights_move() {
        let moved = |rows, outputs, precision| {
            let shape = LinearShape {
                rows,
                inputs: 512,
                outputs,
                scale: 1.0,
                bias: false,
                activation: Activation::Identity,
                join: None,
                precision,
            };
            dispatch(&linear::dispatch(&shape, 0..outputs, AdapterClass::Hardware))
                .map(|it| (it.kernel.name, it.workgroups[0]))
        };
        let (f16, q8) = (WeightPrecision::F16, WeightPrecision::Q8);
        assert_eq!(moved(70, 1028, f16), Some(("matmul_units_split_f16", 3 * 33)));
        assert_eq!(moved(129, 2052, q8), Some(("matmul_units_q8", 3 * 33)));
        assert_eq!(moved(512, 37_000, f16), Some(("wide_matmul_units_f16", 4 * 290)));
        assert_eq!(
            moved(64, 37_000, f16),
            Some(("matmul_units_f16", 579)),
            "half of wide tiles would be padding"
        );
        assert_eq!(moved(192, 37_000, f16), Some(("matmul_units_f16", 3 * 579)));
        assert_eq!(moved(193, 37_000, f16), Some(("wide_matmul_units_f16", 2 * 290)));
        let f32 = WeightPrecision::F32;
        assert_eq!(moved(512, 37_000, f32), Some(("matmul_units_f32", 8 * 579)));
        assert_eq!(moved(70, 1028, f32), None, "too few tiles");
        assert_eq!(moved(64, 512, f16), None, "too few tiles");
        assert_eq!(moved(32, 37_000, f16), None, "few rows");
    }
}
