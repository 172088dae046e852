//! Compute pipelines: built once from explicit layouts, then cached.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::kernels::{Access, Dispatch, Kernel};

/// Launches with the same kernel and `override` constants share a pipeline.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    kernel: &'static str,
    constants: Vec<(&'static str, u64)>,
}

/// All pipelines of one device.
#[derive(Default)]
pub(super) struct PipelineCache {
    /// The driver's compiled pipelines of earlier runs, if the API gives access to them.
    compiled: Option<wgpu::PipelineCache>,
    pipelines: Mutex<HashMap<Key, wgpu::ComputePipeline>>,
    modules: Mutex<HashMap<&'static str, wgpu::ShaderModule>>,
    /// Kernels with text to replace: for tests.
    spoiled: Mutex<Vec<[&'static str; 3]>>,
    storage_layouts: Mutex<HashMap<&'static [Access], wgpu::BindGroupLayout>>,
}

impl PipelineCache {
    /// An empty cache, on top of the driver's compiled pipelines.
    pub fn new(compiled: Option<wgpu::PipelineCache>) -> Self {
        Self { compiled, ..Self::default() }
    }

    /// The pipeline of a launch.
    pub fn get(
        &self,
        device: &wgpu::Device,
        params_layout: &wgpu::BindGroupLayout,
        dispatch: &Dispatch,
    ) -> wgpu::ComputePipeline {
        let kernel = dispatch.kernel;
        let key = Key {
            kernel: kernel.name,
            constants: dispatch.constants.iter().map(|&(name, value)| (name, value.to_bits())).collect(),
        };
        let mut pipelines = self.pipelines.lock().unwrap_or_else(|poison| poison.into_inner());
        pipelines
            .entry(key)
            .or_insert_with(|| {
                let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                    label: Some(kernel.name),
                    bind_group_layouts: &[Some(&self.storage_layout(device, kernel)), Some(params_layout)],
                    immediate_size: 0,
                });
                device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                    label: Some(kernel.name),
                    layout: Some(&layout),
                    module: &self.module(device, kernel),
                    entry_point: Some("main"),
                    compilation_options: wgpu::PipelineCompilationOptions {
                        constants: &dispatch.constants,
                        ..Default::default()
                    },
                    cache: self.compiled.as_ref(),
                })
            })
            .clone()
    }

    /// The layout of a kernel's group 0.
    pub fn storage_layout(&self, device: &wgpu::Device, kernel: &Kernel) -> wgpu::BindGroupLayout {
        let mut layouts = self.storage_layouts.lock().unwrap_or_else(|poison| poison.into_inner());
        layouts
            .entry(kernel.storage)
            .or_insert_with(|| {
                let entries: Vec<_> = (0..)
                    .zip(kernel.storage)
                    .map(|(binding, &access)| wgpu::BindGroupLayoutEntry {
                        binding,
                        visibility: wgpu::ShaderStages::COMPUTE,
                        ty: wgpu::BindingType::Buffer {
                            ty: wgpu::BufferBindingType::Storage { read_only: access == Access::Read },
                            has_dynamic_offset: false,
                            min_binding_size: None,
                        },
                        count: None,
                    })
                    .collect();
                device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                    label: Some("storage"),
                    entries: &entries,
                })
            })
            .clone()
    }

    /// See [`Gpu::spoil`](super::Gpu::spoil).
    pub fn spoil(&self, kernel: &'static str, from: &'static str, to: &'static str) {
        self.spoiled.lock().unwrap_or_else(|poison| poison.into_inner()).push([kernel, from, to]);
    }

    fn text(&self, kernel: &Kernel) -> String {
        let spoiled = self.spoiled.lock().unwrap_or_else(|poison| poison.into_inner());
        let of_kernel = spoiled.iter().filter(|[name, ..]| *name == kernel.name);
        of_kernel.fold(kernel.text(), |text, [_, from, to]| {
            assert!(text.contains(from), "{} has no {from:?}", kernel.name);
            text.replace(from, to)
        })
    }

    fn module(&self, device: &wgpu::Device, kernel: &Kernel) -> wgpu::ShaderModule {
        let mut modules = self.modules.lock().unwrap_or_else(|poison| poison.into_inner());
        modules
            .entry(kernel.name)
            .or_insert_with(|| {
                let shader = wgpu::ShaderModuleDescriptor {
                    label: Some(kernel.name),
                    source: wgpu::ShaderSource::Wgsl(self.text(kernel).into()),
                };
                let checks = wgpu::ShaderRuntimeChecks { force_loop_bounding: false, ..Default::default() };
                #[expect(
                    unsafe_code,
                    reason = "counters that end endless loops keep drivers from unrolling any"
                )]
                // SAFETY: all loops of the kernels end. Every other check stays.
                unsafe {
                    device.create_shader_module_trusted(shader, checks)
                }
            })
            .clone()
    }
}

/// The layout of group 1 of every kernel: one `Params` struct in a shared buffer, at a dynamic offset.
pub(super) fn params_layout(device: &wgpu::Device) -> wgpu::BindGroupLayout {
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some("params"),
        entries: &[wgpu::BindGroupLayoutEntry {
            binding: 0,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty: wgpu::BufferBindingType::Uniform,
                has_dynamic_offset: true,
                min_binding_size: None,
            },
            count: None,
        }],
    })
}
