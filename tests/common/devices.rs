//! The devices that tests run on.

use std::sync::Arc;

use wordloom::gpu::{self, Gpu};
use wordloom::kernels::AdapterClass;
use wordloom::{Device, DeviceChoice};

/// A GPU, which must be there, a software adapter at least.
#[cfg(not(target_arch = "wasm32"))]
pub async fn gpu() -> Arc<Gpu> {
    open().await
}

/// A GPU, which must be there, a software adapter at least. All tests share it: browsers' software adapters take
/// seconds to compile some kernels, and keep them no longer than the device.
#[cfg(target_arch = "wasm32")]
pub async fn gpu() -> Arc<Gpu> {
    thread_local!(static SHARED: Shared = const { Shared::new() });
    shared(&SHARED, open()).await
}

#[cfg(target_arch = "wasm32")]
type Shared = std::cell::OnceCell<Arc<Gpu>>;

/// The device of `cell`, opened by the first caller.
#[cfg(target_arch = "wasm32")]
async fn shared(
    cell: &'static std::thread::LocalKey<Shared>,
    open: impl Future<Output = Arc<Gpu>>,
) -> Arc<Gpu> {
    if let Some(gpu) = cell.with(|cell| cell.get().cloned()) {
        return gpu;
    }
    let gpu = open.await;
    cell.with(|cell| cell.get_or_init(|| gpu).clone())
}

async fn open() -> Arc<Gpu> {
    let opened = Device::open(&DeviceChoice::Gpu).await;
    let Device::Gpu(gpu) = opened.expect("tests need a GPU adapter: run `cargo xtask setup`") else {
        unreachable!("a GPU was asked for")
    };
    gpu
}

/// The devices that everything has to be right on: the CPU runner, and a GPU adapter.
pub async fn devices() -> Vec<Device> {
    vec![Device::Cpu, Device::Gpu(gpu().await)]
}

/// A GPU whose buffers hold no more than `bytes` each, and that has only WebGPU's default limits otherwise.
pub async fn gpu_with_buffers_of(bytes: u64) -> Device {
    Device::Gpu(Arc::new(small_gpu(bytes).await))
}

/// The same with kernels as for another class of adapter.
pub async fn small_gpu_as(class: AdapterClass, bytes: u64) -> Device {
    let mut gpu = small_gpu(bytes).await;
    gpu.force_class(class);
    Device::Gpu(Arc::new(gpu))
}

async fn small_gpu(bytes: u64) -> Gpu {
    let adapter = gpu::any().await.expect("a GPU adapter");
    let limits = wgpu::Limits {
        max_buffer_size: bytes,
        max_storage_buffer_binding_size: bytes,
        ..wgpu::Limits::defaults()
    };
    Gpu::open_with_limits(adapter, limits).await.expect("opens")
}

/// A GPU on which kernels are chosen as for another class of adapter: the hardware's on a software one.
pub async fn gpu_as(class: AdapterClass) -> Device {
    let own = gpu().await;
    if own.class() == class {
        return Device::Gpu(own); // with the kernels that it has compiled
    }
    #[cfg(target_arch = "wasm32")]
    {
        thread_local!(static OTHER: Shared = const { Shared::new() });
        Device::Gpu(shared(&OTHER, open_as(class)).await)
    }
    #[cfg(not(target_arch = "wasm32"))]
    Device::Gpu(open_as(class).await)
}

async fn open_as(class: AdapterClass) -> Arc<Gpu> {
    let adapter = gpu::any().await.expect("a GPU adapter");
    let mut gpu = Gpu::open(adapter).await.expect("opens");
    gpu.force_class(class);
    Arc::new(gpu)
}
