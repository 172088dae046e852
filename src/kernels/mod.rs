//! The compute kernels: for each file in `shaders/`, the Rust half that says how to launch it.
//!
//! A module here answers four small questions about its twin `shaders/NAME.wgsl`: what it binds ([`Kernel::storage`]),
//! which `override` constants it takes, what its `Params` struct holds, and how many workgroups cover a given shape.
//! All of it is plain data, so that planning needs no device.
//!
//! # Layout of values on the device
//!
//! An activation of shape `[rows, width]` is stored row by row with a *stride* of `width` rounded up to a multiple of
//! four ([`stride`]), so that kernels may read it as `vec4<f32>`. Kernels write zeros to the padding, because what is
//! left over from the buffer's last use need not be a number. A weight matrix `[outputs, inputs]` is stored as panels of
//! [`PANEL`] outputs ([`panels`]).

/// Joins a kernel's text with the helpers it uses, in `shaders/shared/`. WGSL's module scope has no order, so helpers
/// come after the kernel and compiler messages keep the kernel file's own line numbers.
macro_rules! wgsl {
    ($kernel:literal $(+ $helper:literal)*) => {
        concat!(
            include_str!(concat!("../../shaders/", $kernel, ".wgsl")),
            $("\n", include_str!(concat!("../../shaders/shared/", $helper, ".wgsl")),)*
        )
    };
}

/// One kernel for each [`WeightPrecision`](crate::precision::WeightPrecision): the same text with another way to read
/// weights, `shaders/shared/weights_*.wgsl`. The prefix distinguishes the forms of a kernel that has several.
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
            wgsl: concat!(
                wgsl!($kernel $(+ $helper)*),
                "\n",
                include_str!(concat!("../../shaders/shared/weights_", $stored, ".wgsl")),
            ),
            storage: $storage,
            params: $params,
        }
    };
}

/// Declares a kernel's `Params` struct together with the list of its fields, which a test holds against the WGSL side.
/// Fields are four bytes each, so that `repr(C)` and WGSL's uniform layout agree without padding.
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

mod all;
pub mod append_kv;
pub mod append_rows;
pub mod attention;
pub mod attention_weights;
pub mod bans;
pub mod cached_attention;
pub mod edits;
pub mod embed;
pub mod heatmap;
pub mod layer_norm;
pub mod linear;
pub mod log_probability;
pub mod log_softmax_top_k;
pub mod map_blocks;
pub mod normalized_linear;
pub mod output_layer;
pub mod panels;
pub mod search;
pub mod search_state;
pub mod sum_blocks;
pub mod vocabulary_chunks;

pub use all::all;

use crate::precision::WeightPrecision;

/// Outputs (columns of `x·Wᵀ`) in one panel of a packed weight matrix.
pub const PANEL: usize = 64;

/// The most workgroups WebGPU allows along one axis of a dispatch.
pub const MAX_WORKGROUPS_PER_AXIS: u32 = 65_535;

/// How a kernel uses a storage buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// `var<storage, read>`
    Read,
    /// `var<storage, read_write>`
    Write,
}

/// One WGSL compute kernel, entry point `main`: group 0 holds its storage buffers in order (inputs before outputs),
/// group 1 one uniform `Params` struct.
#[derive(Debug)]
pub struct Kernel {
    /// Its name, unique among kernels: labels and caches use it.
    pub name: &'static str,
    /// The kernel's text, followed by its helpers.
    pub wgsl: &'static str,
    /// Group 0, in binding order.
    pub storage: &'static [Access],
    /// Group 1: the fields of `Params`.
    pub params: &'static [Field],
}

/// Kernels that do the same with weights that are stored differently.
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
    /// The kernel for weights stored so.
    pub const fn of(&self, precision: WeightPrecision) -> &Kernel {
        match precision {
            WeightPrecision::F32 => &self.f32,
            WeightPrecision::F16 => &self.f16,
            WeightPrecision::Q8 => &self.q8,
        }
    }

    /// Of these kernels the one for the precision that `kernel` has among the `plain` ones; none if it is not one of them.
    fn twin_of(&'static self, plain: &Self, kernel: &Kernel) -> Option<&'static Kernel> {
        let precision = WeightPrecision::ALL.into_iter().find(|&p| plain.of(p).name == kernel.name)?;
        Some(self.of(precision))
    }
}

/// A field of a `Params` struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// As in the WGSL struct.
    pub name: &'static str,
    /// `u32`, `i32` or `f32`, alike in both languages.
    pub dtype: &'static str,
    /// Bytes from the start of the struct.
    pub offset: usize,
}

/// What kind of processor executes the shaders; kernels are chosen by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdapterClass {
    /// A GPU: workgroups run in parallel, shared memory and barriers are cheap.
    Hardware,
    /// A CPU behind a GPU interface: barriers are ruinous, registers are everything. For tests, and for pages that ask for
    /// it; the CPU runner is faster.
    Software,
}

impl AdapterClass {
    /// Whether a CPU executes the shaders.
    pub const fn is_software(self) -> bool {
        matches!(self, Self::Software)
    }
}

/// One launch of a kernel, ready to be recorded.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// The kernel.
    pub kernel: &'static Kernel,
    /// Values of its `override` constants.
    pub constants: Vec<(&'static str, f64)>,
    /// The bytes of its `Params` struct.
    pub params: Vec<u8>,
    /// Workgroups along x, y, z.
    pub workgroups: [u32; 3],
}

impl Dispatch {
    /// A launch with the bytes of `params`.
    pub fn new(
        kernel: &'static Kernel,
        constants: Vec<(&'static str, f64)>,
        params: &impl bytemuck::NoUninit,
        workgroups: [u32; 3],
    ) -> Self {
        Self { kernel, constants, params: bytemuck::bytes_of(params).to_vec(), workgroups }
    }

    /// Its `Params` struct, which has to be a `P`.
    fn read_params<P: bytemuck::AnyBitPattern>(&self) -> P {
        bytemuck::pod_read_unaligned(&self.params)
    }

    /// The value of one of its constants, which it has to have.
    fn constant(&self, name: &str) -> f64 {
        self.constants.iter().find(|(known, _)| *known == name).map_or(f64::NAN, |&(_, value)| value)
    }
}

/// Which columns of a buffer an operand is, e.g. the keys in a fused `[rows, 3 * d_model]` projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnLayout {
    /// Distance between rows, in elements.
    pub stride: usize,
    /// First column.
    pub first: usize,
}

/// Distance between the rows of an activation that is `width` wide, in elements: a multiple of four.
pub const fn stride(width: usize) -> usize {
    width.next_multiple_of(4)
}

/// Workgroups for `count` invocations in groups of `size`, folded over x and y because an axis holds at most
/// [`MAX_WORKGROUPS_PER_AXIS`]. Shaders undo the folding with `flat_index` of `shared/grid.wgsl` and guard the end.
pub fn fold(count: usize, size: u32) -> [u32; 3] {
    let groups = count.div_ceil(size as usize).max(1);
    let y = groups.div_ceil(MAX_WORKGROUPS_PER_AXIS as usize);
    let x = groups.div_ceil(y);
    [x as u32, y as u32, 1]
}
