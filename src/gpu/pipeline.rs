//! Compute pipelines: built once from explicit layouts, then cached.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::kernels::{Access, Dispatch, Kernel};

/// Launches with the same kernel and `override` constants share a pipeline.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    kernel: &'static str,
    constants: Vec<(&'static str, u64)>,
}

/// Things by name, each made once. Different ones can be made on several threads at the same time.
type Made<K, V> = Mutex<HashMap<K, Arc<OnceLock<V>>>>;

impl Key {
    fn of(launch: &Dispatch) -> Self {
        Self {
            kernel: launch.kernel.name,
            constants: launch.constants.iter().map(|&(name, value)| (name, value.to_bits())).collect(),
        }
    }
}

/// All pipelines of one device.
#[derive(Default)]
pub(super) struct PipelineCache {
    /// The driver's compiled pipelines of earlier runs, if the API gives access to them.
    compiled: Option<wgpu::PipelineCache>,
    pipelines: Made<Key, wgpu::ComputePipeline>,
    modules: Made<&'static str, wgpu::ShaderModule>,
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
        made(&self.pipelines, Key::of(dispatch), || {
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
    }

    /// Makes the pipelines of launches that are not there yet, on all cores: a driver takes tens of milliseconds for one.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn compile(
        &self,
        device: &wgpu::Device,
        params_layout: &wgpu::BindGroupLayout,
        launches: &[&Dispatch],
    ) {
        use rayon::prelude::*;

        let mut missing: HashMap<Key, &Dispatch> =
            launches.iter().map(|launch| (Key::of(launch), *launch)).collect();
        let there = self.pipelines.lock().unwrap_or_else(PoisonError::into_inner);
        missing.retain(|key, _| !there.contains_key(key));
        drop(there);
        missing.into_par_iter().for_each(|(_, launch)| {
            self.get(device, params_layout, launch);
        });
    }

    /// The layout of a kernel's group 0.
    pub fn storage_layout(&self, device: &wgpu::Device, kernel: &Kernel) -> wgpu::BindGroupLayout {
        let mut layouts = self.storage_layouts.lock().unwrap_or_else(PoisonError::into_inner);
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
        self.spoiled.lock().unwrap_or_else(PoisonError::into_inner).push([kernel, from, to]);
    }

    fn text(&self, kernel: &Kernel) -> String {
        let spoiled = self.spoiled.lock().unwrap_or_else(PoisonError::into_inner);
        let of_kernel = spoiled.iter().filter(|[name, ..]| *name == kernel.name);
        of_kernel.fold(kernel.text(), |text, [_, from, to]| {
            assert!(text.contains(from), "{} has no {from:?}", kernel.name);
            text.replace(from, to)
        })
    }

    fn module(&self, device: &wgpu::Device, kernel: &Kernel) -> wgpu::ShaderModule {
        made(&self.modules, kernel.name, || {
            let shader = wgpu::ShaderModuleDescriptor {
                label: Some(kernel.name),
                source: wgpu::ShaderSource::Wgsl(self.text(kernel).into()),
            };
            let checks = wgpu::ShaderRuntimeChecks { force_loop_bounding: false, ..Default::default() };
            #[expect(unsafe_code, reason = "counters that end endless loops keep drivers from unrolling any")]
            // SAFETY: all loops of the kernels end. Every other check stays.
            unsafe {
                device.create_shader_module_trusted(shader, checks)
            }
        })
    }
}

/// The thing with the key; the first caller makes it, and the others wait.
fn made<K: Eq + Hash, V: Clone>(all: &Made<K, V>, key: K, make: impl FnOnce() -> V) -> V {
    let one = all.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().clone();
    one.get_or_init(make).clone()
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
