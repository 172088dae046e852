//! One GPU for the window and the model.
//!
//! The window opens the device, because only the window knows which adapters can draw on its screen; the model shares it. If
//! there is only a software adapter, it draws, and the model runs on the CPU, which is faster.

use std::sync::Arc;

use eframe::egui_wgpu::{RenderState, WgpuConfiguration, WgpuSetup, WgpuSetupCreateNew};
use wordloom::gpu::{descriptor, pipeline_folder};
use wordloom::{Device, DeviceChoice, GpuError};

/// How the window opens its GPU.
pub fn configuration(choice: &DeviceChoice) -> WgpuConfiguration {
    let mut setup = WgpuSetupCreateNew::without_display_handle();
    setup.instance_descriptor.backends = wgpu::Backends::PRIMARY;
    let choice = choice.clone();
    setup.native_adapter_selector =
        Some(Arc::new(move |adapters, surface| select(&choice, adapters, surface)));
    setup.device_descriptor = Arc::new(|adapter| {
        let mut descriptor = descriptor(adapter, pipeline_folder().is_some());
        // textures for the largest screens
        descriptor.required_limits.max_texture_dimension_2d =
            adapter.limits().max_texture_dimension_2d.min(16_384);
        descriptor
    });
    WgpuConfiguration { wgpu_setup: WgpuSetup::CreateNew(setup), ..WgpuConfiguration::default() }
}

/// The best adapter that can draw on the window's surface, hardware first. If the user gave a name, only adapters of that
/// name count.
fn select(
    choice: &DeviceChoice,
    adapters: &[wgpu::Adapter],
    surface: Option<&wgpu::Surface<'_>>,
) -> Result<wgpu::Adapter, String> {
    let draws =
        |adapter: &&wgpu::Adapter| surface.is_none_or(|surface| adapter.is_surface_supported(surface));
    let mut found: Vec<&wgpu::Adapter> = adapters.iter().filter(draws).collect();
    if found.is_empty() {
        return Err("there is no graphics driver that can draw; install one for Vulkan, Metal or DX12".into());
    }
    found.sort_by_key(|adapter| match adapter.get_info().device_type {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    });
    let best = match choice {
        DeviceChoice::Name(part) => {
            let part = part.to_lowercase();
            found.iter().find(|adapter| adapter.get_info().name.to_lowercase().contains(&part)).ok_or_else(
                || {
                    let names: Vec<String> =
                        found.iter().map(|adapter| format!("`{}`", adapter.get_info().name)).collect();
                    format!(
                        "no GPU that draws is named so; choose auto, gpu, cpu, or one of {}",
                        names.join(", ")
                    )
                },
            )?
        }
        _ => found[0],
    };
    Ok(best.clone())
}

/// The model's device in a window that draws with `drawing`; without a window (in tests), the CPU.
pub fn of_window(choice: &DeviceChoice, drawing: Option<&RenderState>) -> Result<Device, GpuError> {
    let Some(drawing) = drawing else { return Ok(Device::Cpu) };
    let in_software = drawing.adapter.get_info().device_type == wgpu::DeviceType::Cpu;
    match choice {
        DeviceChoice::Cpu => Ok(Device::Cpu),
        DeviceChoice::Auto if in_software => Ok(Device::Cpu),
        _ => Device::share(drawing.adapter.clone(), drawing.device.clone(), drawing.queue.clone()),
    }
}

/// The name of the adapter that draws, for the user.
pub fn drawn_by(drawing: Option<&RenderState>) -> Option<String> {
    Some(format!("drawn by {}", drawing?.adapter.get_info().name))
}
