//! Finding an adapter: by rank, or by name.

use super::GpuError;
use crate::kernels::AdapterClass;
use crate::sorting;

/// An adapter of one backend. A processor can have several.
#[derive(Clone, Debug)]
pub struct Adapter {
    pub(super) handle: wgpu::Adapter,
    info: wgpu::AdapterInfo,
}

impl Adapter {
    pub(super) fn new(handle: wgpu::Adapter) -> Self {
        let info = handle.get_info();
        Self { handle, info }
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn info(&self) -> &wgpu::AdapterInfo {
        &self.info
    }

    /// The driver's name of the adapter. Browsers may hide it.
    pub fn name(&self) -> &str {
        if self.info.name.is_empty() { "WebGPU adapter" } else { &self.info.name }
    }

    /// The adapter's API, e.g. `vulkan`.
    pub fn backend(&self) -> &'static str {
        self.info.backend.to_str()
    }

    /// Driver name and version, if known.
    pub fn driver(&self) -> String {
        [self.info.driver.as_str(), self.info.driver_info.as_str()]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Whether a GPU or a CPU executes the shaders.
    pub fn class(&self) -> AdapterClass {
        match self.info.device_type {
            wgpu::DeviceType::Cpu => AdapterClass::Software,
            _ => AdapterClass::Hardware,
        }
    }

    /// `discrete GPU`, `integrated GPU`, `virtual GPU`, `software` or `GPU`.
    pub fn kind(&self) -> &'static str {
        match self.info.device_type {
            wgpu::DeviceType::DiscreteGpu => "discrete GPU",
            wgpu::DeviceType::IntegratedGpu => "integrated GPU",
            wgpu::DeviceType::VirtualGpu => "virtual GPU",
            wgpu::DeviceType::Cpu => "software",
            wgpu::DeviceType::Other => "GPU",
        }
    }

    /// Whether it is a GPU with memory of its own.
    pub fn is_discrete(&self) -> bool {
        self.info.device_type == wgpu::DeviceType::DiscreteGpu
    }

    /// The limits that the adapter offers.
    pub fn limits(&self) -> wgpu::Limits {
        self.handle.limits()
    }

    /// The optional features that the adapter offers.
    pub fn features(&self) -> wgpu::Features {
        self.handle.features()
    }

    /// Whether its compiled pipelines can be [stored on disk](super::Gpu::open_with_pipelines).
    pub fn hands_out_pipelines(&self) -> bool {
        self.features().contains(wgpu::Features::PIPELINE_CACHE)
    }

    /// Whether it is the same adapter, found at another time.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let known = |info: &wgpu::AdapterInfo| {
            (info.name.clone(), info.backend, info.vendor, info.device, info.device_type)
        };
        known(&self.info) == known(&other.info)
    }

    /// The order of preference; lower is better.
    fn rank(&self) -> u8 {
        match self.info.device_type {
            wgpu::DeviceType::DiscreteGpu => 0,
            wgpu::DeviceType::IntegratedGpu => 1,
            wgpu::DeviceType::VirtualGpu => 2,
            wgpu::DeviceType::Other => 3,
            wgpu::DeviceType::Cpu => 4,
        }
    }
}

/// All adapters of this machine (in a browser: the page's one), best first. May be empty.
pub async fn adapters() -> Vec<Adapter> {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = wgpu::Backends::PRIMARY;
    let instance = wgpu::Instance::new(descriptor);
    #[cfg(not(target_arch = "wasm32"))]
    let handles = instance.enumerate_adapters(wgpu::Backends::PRIMARY).await;
    #[cfg(target_arch = "wasm32")] // a page is not told what else there is
    let handles: Vec<_> = instance
        .request_adapter(&wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            ..Default::default()
        })
        .await
        .into_iter()
        .collect();
    let mut found: Vec<Adapter> = handles.into_iter().map(Adapter::new).collect();
    sorting::sort_by_key(&mut found, Adapter::rank);
    found
}

/// The best hardware adapter, if there is one.
pub async fn hardware() -> Option<Adapter> {
    adapters().await.into_iter().find(|adapter| adapter.class() == AdapterClass::Hardware)
}

/// The best adapter of any class.
///
/// # Errors
/// [`GpuError::NoAdapter`] if the machine has none.
pub async fn any() -> Result<Adapter, GpuError> {
    adapters().await.into_iter().next().ok_or_else(|| GpuError::NoAdapter {
        wanted: "GPU adapter".into(),
        hint: match cfg!(target_arch = "wasm32") {
            true => "this browser, or this machine's driver, has no WebGPU; use the CPU instead".into(),
            false => "install a Vulkan, Metal or DX12 driver, or use `--device cpu`".into(),
        },
    })
}

/// The best adapter whose name contains `part`, ignoring case.
///
/// # Errors
/// [`GpuError::NoAdapter`], which lists the known names.
pub async fn named(part: &str) -> Result<Adapter, GpuError> {
    let found = adapters().await;
    let names: Vec<String> = found.iter().map(|adapter| format!("`{}`", adapter.name())).collect();
    let wanted = part.to_lowercase();
    found.into_iter().find(|adapter| adapter.name().to_lowercase().contains(&wanted)).ok_or_else(|| {
        GpuError::NoAdapter {
            wanted: format!("GPU adapter whose name contains `{part}`"),
            hint: match names.as_slice() {
                [] => "this machine has none; use `--device cpu`".into(),
                names => format!("choose `auto`, `gpu`, `cpu`, or one of {}", names.join(", ")),
            },
        }
    })
}
