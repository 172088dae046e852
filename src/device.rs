//! The device of a model: a GPU, or this machine's CPU.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::gpu::{self, DeviceNews, GpuError};
use crate::kernels::AdapterClass;

#[doc(inline)]
pub use crate::gpu::Gpu;

/// The user's choice of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// A hardware GPU, or else the CPU, because a software adapter is much slower than the CPU runner.
    #[default]
    Auto,
    /// Any GPU adapter, including software adapters.
    Gpu,
    /// The CPU, without any GPU interface.
    Cpu,
    /// The GPU adapter whose name contains this text, ignoring case.
    Name(String),
}

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim() {
            "" => {
                Err("an empty device name; choose `auto`, `gpu`, `cpu` or part of an adapter's name".into())
            }
            "auto" => Ok(Self::Auto),
            "gpu" => Ok(Self::Gpu),
            "cpu" => Ok(Self::Cpu),
            name => Ok(Self::Name(name.to_owned())),
        }
    }
}

/// An open device. Cheap to clone.
#[derive(Clone)]
pub enum Device {
    /// The CPU runner.
    Cpu,
    /// A GPU behind WebGPU, Vulkan, Metal or DX12.
    Gpu(Arc<Gpu>),
}

impl Device {
    /// Opens the chosen device.
    ///
    /// # Errors
    /// [`GpuError`] if the chosen GPU does not exist or its driver fails. [`DeviceChoice::Auto`] fails only if a hardware GPU
    /// exists and cannot be opened, because nothing falls back silently.
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use wordloom::{Device, DeviceChoice};
    ///
    /// let device = Device::open(&DeviceChoice::Cpu).await?;
    /// assert_eq!(device.to_string(), "CPU");
    /// # Ok::<_, wordloom::GpuError>(())
    /// # }).unwrap();
    /// ```
    pub async fn open(choice: &DeviceChoice) -> Result<Self, GpuError> {
        let adapter = match choice {
            DeviceChoice::Cpu => return Ok(Self::Cpu),
            DeviceChoice::Auto => match gpu::hardware().await {
                Some(adapter) => adapter,
                None => return Ok(Self::Cpu),
            },
            DeviceChoice::Gpu => gpu::any().await?,
            DeviceChoice::Name(part) => gpu::named(part).await?,
        };
        Ok(Self::Gpu(Arc::new(Gpu::open(adapter).await?)))
    }

    /// A GPU that another owner has opened and continues to use; see [`Gpu::share`].
    ///
    /// # Errors
    /// [`GpuError::Open`] if it was opened with less than WebGPU's default limits.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn share(adapter: wgpu::Adapter, device: wgpu::Device, queue: wgpu::Queue) -> Result<Self, GpuError> {
        Ok(Self::Gpu(Arc::new(Gpu::share(adapter, device, queue)?)))
    }

    /// Opens the device again after its loss: the same adapter with the same limits, or else what [`DeviceChoice::Auto`] takes,
    /// which may be the CPU. All models of the device get the same replacement. Whoever [listens](Gpu::listen) is told.
    ///
    /// A loaded model does so by itself: natively, weights go back to the new device, and the sentences whose search the loss
    /// interrupted begin anew, with the same result. In a browser, the caller does.
    ///
    /// # Errors
    /// `lost` itself if the device was closed on purpose, or if another owner [shares](Self::share) it.
    pub async fn reopen(&self, lost: GpuError) -> Result<Self, GpuError> {
        let Self::Gpu(gpu) = self else { return Ok(Self::Cpu) };
        if gpu.is_closed_or_shared() {
            return Err(lost);
        }
        let next = gpu.reopened().await.map_or(Self::Cpu, Self::Gpu);
        let (adapter, reason) = match lost {
            GpuError::Lost { adapter, reason } => (adapter, reason),
            other => (gpu.adapter().name().to_owned(), other.to_string()),
        };
        gpu.tell(&DeviceNews::Replaced { lost: adapter, reason, by: next.to_string() });
        Ok(next)
    }

    /// The GPU, if it is one.
    pub fn gpu(&self) -> Option<&Gpu> {
        match self {
            Self::Cpu => None,
            Self::Gpu(gpu) => Some(gpu),
        }
    }

    /// The class of the processor that runs the kernels.
    pub(crate) fn class(&self) -> AdapterClass {
        match self {
            Self::Cpu => AdapterClass::Software,
            Self::Gpu(gpu) => gpu.class(),
        }
    }

    /// The largest buffer of a value, in bytes.
    pub(crate) fn max_buffer_bytes(&self) -> u64 {
        match self {
            Self::Cpu => u64::MAX,
            Self::Gpu(gpu) => gpu.max_storage_bytes(),
        }
    }

    /// A sentence for the user: the device, and the reason for its choice.
    pub fn notice(&self, choice: &DeviceChoice) -> String {
        let reason = match (choice, self) {
            (DeviceChoice::Auto, Self::Gpu(_)) => "the best GPU found",
            (DeviceChoice::Auto, Self::Cpu) => "no hardware GPU found",
            (DeviceChoice::Gpu, Self::Gpu(gpu)) if gpu.class().is_software() => {
                "asked for; a software adapter, slower than `--device cpu`"
            }
            _ => "asked for",
        };
        format!("running on {self} ({reason})")
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("CPU"),
            Self::Gpu(gpu) => {
                let adapter = gpu.adapter();
                write!(f, "{} ({}, {})", adapter.name(), adapter.kind(), adapter.backend())
            }
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({self})")
    }
}
