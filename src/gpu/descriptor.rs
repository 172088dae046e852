//! What a device is opened with: features, and limits.

use crate::kernels::matrix_units;

/// What [`matrix_units`] are programmed with.
pub(super) const MATRIX_UNITS: wgpu::Features =
    wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX.union(wgpu::Features::SHADER_F16);

/// Opens a device as [`Gpu::open`](super::Gpu::open) does, for an owner who [shares](super::Gpu::share) it: WebGPU's default limits, but
/// with buffers as large as the adapter allows.
///
/// * `stores_pipelines`: whether compiled pipelines are stored on disk
pub fn descriptor(adapter: &wgpu::Adapter, stores_pipelines: bool) -> wgpu::DeviceDescriptor<'static> {
    let offered = adapter.limits();
    let mut limits = wgpu::Limits {
        max_buffer_size: offered.max_buffer_size,
        max_storage_buffer_binding_size: offered.max_storage_buffer_binding_size,
        ..wgpu::Limits::defaults().or_worse_values_from(&offered)
    };
    if has_matrix_units(adapter) {
        limits.max_compute_workgroup_storage_size = matrix_units::WORKGROUP_BYTES;
        limits.max_compute_invocations_per_workgroup = matrix_units::WORKGROUP_INVOCATIONS;
        limits.max_compute_workgroup_size_x = matrix_units::WORKGROUP_INVOCATIONS;
    }
    with_limits(adapter, limits, stores_pipelines)
}

/// [`descriptor`] with other limits.
pub(super) fn with_limits(
    adapter: &wgpu::Adapter,
    limits: wgpu::Limits,
    stores_pipelines: bool,
) -> wgpu::DeviceDescriptor<'static> {
    let mut features = wgpu::Features::empty();
    if stores_pipelines {
        features |= wgpu::Features::PIPELINE_CACHE;
    }
    if cfg!(not(target_arch = "wasm32")) {
        features |= wgpu::Features::TIMESTAMP_QUERY; // the clock
    }
    let has_units = has_room(&limits) && has_matrix_units(adapter);
    if has_units {
        features |= MATRIX_UNITS;
    }
    wgpu::DeviceDescriptor {
        label: Some("wordloom"),
        required_features: adapter.features() & features,
        required_limits: limits,
        // weights and caches are long-lived, so small blocks save memory
        memory_hints: wgpu::MemoryHints::MemoryUsage,
        experimental_features: if has_units {
            experimental()
        } else {
            wgpu::ExperimentalFeatures::disabled()
        },
        ..Default::default()
    }
}

/// Whether a workgroup of the kernels for matrix units fits.
pub(super) fn has_room(limits: &wgpu::Limits) -> bool {
    limits.max_compute_workgroup_storage_size >= matrix_units::WORKGROUP_BYTES
        && limits.max_compute_invocations_per_workgroup >= matrix_units::WORKGROUP_INVOCATIONS
        && limits.max_compute_workgroup_size_x >= matrix_units::WORKGROUP_INVOCATIONS
}

/// Whether the adapter multiplies matrices of 16 × 16 in f16 and adds in f32, with the subgroups and the workgroups that the
/// kernels count on.
fn has_matrix_units(adapter: &wgpu::Adapter) -> bool {
    use wgpu::CooperativeScalarType::{F16, F32};
    let info = adapter.get_info();
    let fits = |it: &wgpu::CooperativeMatrixProperties| {
        [it.m_size, it.n_size, it.k_size] == [16; 3] && [it.ab_type, it.cr_type] == [F16, F32]
    };
    [info.subgroup_min_size, info.subgroup_max_size] == [32; 2]
        && has_room(&adapter.limits())
        && adapter.features().contains(MATRIX_UNITS)
        && adapter.cooperative_matrix_properties().iter().any(fits)
}

/// What `wgpu` asks for before it opens experimental features.
fn experimental() -> wgpu::ExperimentalFeatures {
    #[expect(unsafe_code, reason = "matrix units are an experimental feature")]
    // SAFETY: only `kernels::matrix_units` uses the feature, inside its arrays and in uniform control flow.
    unsafe {
        wgpu::ExperimentalFeatures::enabled()
    }
}
