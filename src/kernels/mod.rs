//! The compute kernels: the Rust half of each file in `shaders/`.
//!
//! A module describes its twin `shaders/NAME.wgsl`: bindings ([`Kernel::storage`]), `override` constants, the `Params`
//! struct, and the number of workgroups for a shape. All of it is plain data, so that planning needs no device.
//!
//! # Layout of values on the device
//!
//! An activation `[rows, width]` is stored row by row with a *stride* of `width` rounded up to a multiple of four
//! ([`stride`]), so that kernels can read `vec4<f32>`. Kernels write zeros to the padding, because the buffer's earlier
//! content may be NaN. A weight matrix `[outputs, inputs]` is stored as panels of [`PANEL`] outputs ([`panels`]).

/// The text of a kernel, then those of its helpers in `shaders/shared/`, without comments. WGSL has no declaration order, so
/// helpers come last, and compiler messages keep the kernel file's line numbers. The texts are not joined before a kernel is
/// used, so that a program has each once.
macro_rules! wgsl {
    ($kernel:literal $(+ $helper:literal)* $(+ ($path:expr))?) => {
        &[
            wgsl!(@file concat!("/shaders/", $kernel, ".wgsl")),
            $(wgsl!(@file concat!("/shaders/shared/", $helper, ".wgsl")),)*
            $(wgsl!(@file $path),)?
        ]
    };
    (@file $path:expr) => {
        include_str!(concat!(env!("OUT_DIR"), $path))
    };
}

/// One kernel for each [`WeightPrecision`](crate::precision::WeightPrecision), with its own reader of weights,
/// `shaders/shared/weights_*.wgsl`. The prefix distinguishes the forms of a kernel.
macro_rules! by_precision {
    ($prefix:literal, $kernel:literal $(+ $helper:literal)*, $storage:expr, $params:expr) => {
        $crate::kernels::ByPrecision {
            f32: by_precision!(@one $prefix, "f32", $kernel $(+ $helper)*, $storage, $params),
            f16: by_precision!(@one $prefix, "f16", $kernel $(+ $helper)*, $storage, $params),
            q8: by_precision!(@one $prefix, "q8", $kernel $(+ $helper)*, $storage, $params),
        }
    };
    (@one $prefix:literal, $stored:tt, $kernel:literal $(+ $helper:literal)*, $storage:expr, $params:expr) => {
        $crate::kernels::Kernel {
            name: concat!($prefix, $kernel, "_", $stored),
            wgsl: wgsl!($kernel $(+ $helper)* + (concat!("/shaders/shared/weights_", $stored, ".wgsl"))),
            storage: $storage,
            params: $params,
        }
    };
}

/// Declares a kernel's `Params` struct and the list of its fields, which a test compares with the shader. Fields have
/// four bytes each, so that `repr(C)` and WGSL's uniform layout agree without padding.
macro_rules! params {
    ($(#[$about:meta])* pub struct $name:ident { $($(#[$doc:meta])* pub $field:ident: $type:ty,)+ }) => {
        $(#[$about])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
        pub struct $name { $($(#[$doc])* pub $field: $type,)+ }

        impl $name {
            /// Name, type and byte offset of each field.
            pub const FIELDS: &'static [$crate::kernels::Field] = &[$($crate::kernels::Field {
                name: stringify!($field),
                dtype: stringify!($type),
                offset: std::mem::offset_of!($name, $field),
            }),+];
        }
    };
}

pub mod activate;
pub mod adam;
mod all;
pub mod append_kv;
pub mod append_rows;
pub mod attention;
pub mod attention_scores;
pub mod attention_weights;
pub mod banded_attention;
pub mod bans;
pub mod batch_norm;
pub mod cached_attention;
pub mod clip;
pub mod column_sums;
pub mod column_tokens;
pub mod copy_rows;
pub mod dropout;
pub mod edits;
pub mod embed;
pub mod embedding_gradient;
pub mod gather_rows;
pub mod heatmap;
pub mod layer_norm;
pub mod layer_norm_gradient;
pub mod linear;
pub mod linear_gradient;
pub mod log_probability;
pub mod log_softmax_top_k;
pub mod low_rank;
pub mod map_blocks;
pub mod matrix_units;
pub mod normalized_linear;
pub mod output_layer;
pub mod panels;
mod passed_over;
pub mod project_length;
pub mod project_packed;
pub mod ranged_attention;
pub mod search;
pub mod search_state;
pub mod selected_linear;
pub mod shares;
pub mod softmax_loss;
pub mod ssru;
pub mod sum_blocks;
pub mod sum_losses;
pub mod sum_rows;
pub mod sum_shares;
pub mod term_scores;
pub mod tie_rows;
pub mod unit_gradient;
pub mod vocabulary_chunks;
pub mod wgsl;

pub use all::all;
pub use passed_over::{Flaws, PassedOver};

use crate::precision::WeightPrecision;

/// Outputs (columns of `x·Wᵀ`) in one panel of a packed weight matrix.
pub const PANEL: usize = 64;

/// Storage buffers that a device binds at once by WebGPU's default limits.
pub const MAX_STORAGE_BUFFERS: u32 = 8;

/// WebGPU's maximum workgroups along one axis of a dispatch.
pub const MAX_WORKGROUPS_PER_AXIS: u32 = 65_535;

/// Access of a kernel to a storage buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// `var<storage, read>`
    Read,
    /// `var<storage, read_write>`
    Write,
}

/// A WGSL compute kernel, entry point `main`. Group 0: storage buffers, inputs before outputs. Group 1: one uniform
/// `Params` struct.
#[derive(Debug)]
pub struct Kernel {
    /// Unique name, for labels and caches.
    pub name: &'static str,
    /// Texts of the kernel and of its helpers; [`Kernel::text`] joins them.
    pub wgsl: &'static [&'static str],
    /// Group 0, in binding order.
    pub storage: &'static [Access],
    /// Group 1: the fields of `Params`.
    pub params: &'static [Field],
}

impl Kernel {
    /// The whole shader.
    pub fn text(&self) -> String {
        self.wgsl.join("\n")
    }
}

/// A kernel in each weight precision.
#[derive(Debug)]
pub struct ByPrecision {
    /// For [`WeightPrecision::F32`].
    pub f32: Kernel,
    /// For [`WeightPrecision::F16`].
    pub f16: Kernel,
    /// For [`WeightPrecision::Q8`].
    pub q8: Kernel,
}

impl ByPrecision {
    /// The kernel for a precision.
    pub const fn of(&self, precision: WeightPrecision) -> &Kernel {
        match precision {
            WeightPrecision::F32 => &self.f32,
            WeightPrecision::F16 => &self.f16,
            WeightPrecision::Q8 => &self.q8,
        }
    }

    /// The kernel in the precision that `kernel` has among the `plain` ones; `None` if it is not one of them.
    fn twin_of(&'static self, plain: &Self, kernel: &Kernel) -> Option<&'static Kernel> {
        plain.precision_of(kernel).map(|precision| self.of(precision))
    }

    /// The precision of `kernel`; `None` if it is not one of these.
    fn precision_of(&self, kernel: &Kernel) -> Option<WeightPrecision> {
        WeightPrecision::ALL.into_iter().find(|&precision| self.of(precision).name == kernel.name)
    }
}

/// A field of a `Params` struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name in the WGSL struct.
    pub name: &'static str,
    /// Type: `u32`, `i32` or `f32`.
    pub dtype: &'static str,
    /// Offset in the struct, bytes.
    pub offset: usize,
}

/// Processor that runs the shaders; the choice of kernels depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdapterClass {
    /// A GPU: workgroups run in parallel, shared memory and barriers are cheap.
    Hardware,
    /// A CPU behind a GPU interface: barriers are slow, registers are fast. For tests, and for pages that request it;
    /// the CPU runner is faster.
    Software,
}

impl AdapterClass {
    /// Whether a CPU executes the shaders.
    pub const fn is_software(self) -> bool {
        matches!(self, Self::Software)
    }

    /// The other class.
    pub const fn other(self) -> Self {
        match self {
            Self::Hardware => Self::Software,
            Self::Software => Self::Hardware,
        }
    }

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hardware => "hardware",
            Self::Software => "software",
        }
    }
}

/// One launch of a kernel.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// The kernel.
    pub kernel: &'static Kernel,
    /// Values of the `override` constants.
    pub constants: Vec<(&'static str, f64)>,
    /// Bytes of the `Params` struct.
    pub params: Vec<u8>,
    /// Workgroups along x, y, z.
    pub workgroups: [u32; 3],
}

impl Dispatch {
    /// Creates a launch with the bytes of `params`.
    pub fn new(
        kernel: &'static Kernel,
        constants: Vec<(&'static str, f64)>,
        params: &impl bytemuck::NoUninit,
        workgroups: [u32; 3],
    ) -> Self {
        Self { kernel, constants, params: bytemuck::bytes_of(params).to_vec(), workgroups }
    }

    /// Reads the `Params` struct, which must be a `P`.
    fn read_params<P: bytemuck::AnyBitPattern>(&self) -> P {
        bytemuck::pod_read_unaligned(&self.params)
    }

    fn constant(&self, name: &str) -> f64 {
        self.constants.iter().find(|(known, _)| *known == name).map_or(f64::NAN, |&(_, value)| value)
    }
}

/// Columns of a buffer, e.g. the keys in a fused `[rows, 3 * d_model]` projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnLayout {
    /// Distance between rows, in elements.
    pub stride: usize,
    /// First column.
    pub first: usize,
}

/// Row stride of an activation, elements: `width` rounded up to a multiple of four.
pub const fn stride(width: usize) -> usize {
    width.next_multiple_of(4)
}

/// Workgroups for `count` invocations in groups of `size`, folded over x and y because of [`MAX_WORKGROUPS_PER_AXIS`].
/// Shaders undo it with `flat_index` of `shared/grid.wgsl`, and check the end.
pub fn fold(count: usize, size: u32) -> [u32; 3] {
    let groups = count.div_ceil(size as usize).max(1);
    let y = groups.div_ceil(MAX_WORKGROUPS_PER_AXIS as usize);
    let x = groups.div_ceil(y);
    [x as u32, y as u32, 1]
}

/// The same workgroups with at most `most` along an axis, for a device that allows fewer than WebGPU's default; `None` if two
/// axes do not hold them. The shaders count workgroups over both axes.
pub fn refold(workgroups: [u32; 3], most: u32) -> Option<[u32; 3]> {
    let [x, y, z] = workgroups;
    if x <= most && y <= most {
        return Some(workgroups);
    }
    let all = u64::from(x) * u64::from(y);
    let rows = all.div_ceil(u64::from(most.max(1)));
    let width = all.div_ceil(rows);
    (rows <= u64::from(most)).then_some([width as u32, rows as u32, z])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workgroups_are_folded_again_for_a_narrower_device() {
        assert_eq!(refold([4096, 1, 1], 4096), Some([4096, 1, 1]));
        assert_eq!(refold([4097, 1, 1], 4096), Some([2049, 2, 1]));
        assert_eq!(refold([35_001, 2, 1], 4096), Some([3889, 18, 1]));
        assert_eq!(refold([65_535, 65_535, 1], 4096), None);
        for count in [1, 4095, 4097, 70_001, 16_000_000] {
            let [x, y, _] = refold(fold(count, 1), 4096).expect("fits");
            assert!(x <= 4096 && y <= 4096 && x as usize * y as usize >= count);
        }
    }
}
