//! Errors of the device layer.

use crate::precision::WeightPrecision;

/// An error of the device layer. Every message says what failed and what a user can do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GpuError {
    /// No adapter matches the request.
    #[error("no {wanted} found; {hint}")]
    NoAdapter {
        /// The request, e.g. ``GPU adapter whose name contains `radeon` ``.
        wanted: String,
        /// The available alternatives.
        hint: String,
    },
    /// The driver refused to open the adapter.
    #[error("cannot open the GPU `{adapter}`: {reason}; `--device cpu` runs without it")]
    Open {
        /// The adapter's name.
        adapter: String,
        /// The driver's words.
        reason: String,
    },
    /// A buffer beyond the device's limits.
    #[error(
        "`{label}` needs {bytes} bytes in one buffer, but `{adapter}` allows {limit}; \
         use a smaller batch or model, or `--device cpu`"
    )]
    TooLarge {
        /// What the buffer is for.
        label: String,
        /// The requested size.
        bytes: u64,
        /// The device's limit.
        limit: u64,
        /// The adapter's name.
        adapter: String,
    },
    /// Device memory is exhausted.
    #[error("`{adapter}` is out of memory ({reason}); use a smaller batch or model, or `--device cpu`")]
    OutOfMemory {
        /// The adapter's name.
        adapter: String,
        /// The driver's words.
        reason: String,
    },
    /// Device memory has no room for a buffer.
    #[error(
        "`{adapter}` is out of memory: `{label}` needs {bytes} bytes beside {in_use} in use ({reason}); \
         use fewer beams, shorter texts, a smaller model, or `--device cpu`"
    )]
    NoRoom {
        /// What the buffer is for.
        label: String,
        /// The requested size.
        bytes: u64,
        /// Bytes of all other buffers.
        in_use: u64,
        /// The adapter's name.
        adapter: String,
        /// The driver's words.
        reason: String,
    },
    /// The CPU runner's memory is exhausted.
    #[error(
        "there is no memory for {bytes} bytes; use a smaller model or fewer texts at once, or `--device gpu`"
    )]
    HostMemory {
        /// The requested size: of all weights together, or of a value of a run.
        bytes: u64,
    },
    /// The device was lost (driver reset, unplugged, page closed).
    #[error("the GPU `{adapter}` was lost: {reason}")]
    Lost {
        /// The adapter's name.
        adapter: String,
        /// The driver's words.
        reason: String,
    },
    /// The device was lost, its work began anew, and it was lost again before a sentence was done.
    #[error(
        "the GPU `{adapter}` was lost twice in a row: {reason}; its driver may need an update, or a smaller model or batch \
         may help; `--device cpu` runs without it"
    )]
    LostAgain {
        /// The adapter's name.
        adapter: String,
        /// The driver's words.
        reason: String,
    },
    /// The device was lost, and the model could not be loaded again.
    #[error("the GPU `{adapter}` was lost ({reason}), and the model cannot be loaded again: {problem}")]
    NotReplaced {
        /// The adapter's name.
        adapter: String,
        /// The driver's words.
        reason: String,
        /// The reason why the model was not loaded.
        problem: String,
    },
    /// The driver unpacks stored weights wrongly.
    #[error(
        "`{adapter}` computes wrong numbers with weights stored as {precision}; use `--weights f32`, or `--device cpu`"
    )]
    WrongAnswer {
        /// The adapter's name.
        adapter: String,
        /// Precision of the stored weights.
        precision: WeightPrecision,
    },
    /// A kernel needs more than the device allows, and no other kernel does its work.
    #[error(
        "`{adapter}` allows {allowed} as `{limit}`, and the kernel `{kernel}` needs {needed}; use `--device cpu`"
    )]
    Limit {
        /// The adapter's name.
        adapter: String,
        /// The kernel's name.
        kernel: String,
        /// WebGPU's name of the limit.
        limit: &'static str,
        /// The device's limit.
        allowed: u64,
        /// The kernel's need.
        needed: u64,
    },
    /// A check of the device found a kernel wrong, and no other kernel does its work.
    #[error(
        "`{adapter}` computes wrong numbers with the kernel `{kernel}`, and no other kernel does its work; \
         use `--device cpu`, or update the driver and run `wordloom check --recheck`"
    )]
    WrongKernel {
        /// The adapter's name.
        adapter: String,
        /// The kernel's name.
        kernel: String,
    },
    /// The API refused a call: a bug in Wordloom or in the driver.
    #[error("the GPU `{adapter}` refused a command: {reason}")]
    Validation {
        /// The adapter's name.
        adapter: String,
        /// The validator's words.
        reason: String,
    },
}

impl GpuError {
    /// The kind of the error in a word, for programs: `unsupported`, `memory`, `device-lost` or `internal`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NoAdapter { .. }
            | Self::Open { .. }
            | Self::Limit { .. }
            | Self::WrongAnswer { .. }
            | Self::WrongKernel { .. } => "unsupported",
            Self::TooLarge { .. }
            | Self::OutOfMemory { .. }
            | Self::NoRoom { .. }
            | Self::HostMemory { .. } => "memory",
            Self::Lost { .. } | Self::LostAgain { .. } | Self::NotReplaced { .. } => "device-lost",
            Self::Validation { .. } => "internal",
        }
    }
}
