//! A list of launches over fixed buffers, recorded once and submitted as often as needed.

use super::buffer::Owned;
use super::{Buffer, Gpu, GpuError};
use crate::kernels::{Dispatch, refold};

/// Distance in bytes between `Params` structs in their uniform buffer: WebGPU's default offset alignment.
const PARAMS_SLOT: u64 = 256;

pub(super) struct Command {
    #[cfg_attr(target_arch = "wasm32", expect(dead_code, reason = "only a profile names it"))]
    kernel: &'static str,
    pipeline: wgpu::ComputePipeline,
    storage: wgpu::BindGroup,
    /// The buffers bound by `storage`. They must live as long as the command can be submitted.
    _buffers: Vec<Buffer>,
    workgroups: [u32; 3],
}

/// Launches in order, with all bound buffers. Replaying creates nothing on the device.
pub struct Recording {
    label: String,
    commands: Vec<Command>,
    params: wgpu::BindGroup,
    /// The buffer bound by `params`.
    _uniform: Owned,
}

/// A submission, so that a caller can wait for it without waiting for later ones.
#[derive(Clone, Debug)]
pub struct Submission(
    #[cfg_attr(target_arch = "wasm32", expect(dead_code, reason = "the browser waits by itself"))]
    pub(super) wgpu::SubmissionIndex,
);

impl Recording {
    /// Number of dispatches in one replay.
    pub fn dispatches(&self) -> usize {
        self.commands.len()
    }

    /// The launches in order, each with the slot of its `Params`.
    pub(super) fn launches(&self) -> impl Iterator<Item = (u64, &Command)> {
        (0..).zip(&self.commands)
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Recording {
    pub(super) fn label(&self) -> &str {
        &self.label
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Command {
    pub(super) fn kernel(&self) -> &'static str {
        self.kernel
    }
}

impl Gpu {
    /// Prepares launches for replay: pipelines, bind groups, and one uniform buffer that holds every `Params`.
    /// Buffers are in the order of [`Kernel::storage`](crate::kernels::Kernel::storage).
    ///
    /// # Errors
    /// [`GpuError`] when a pipeline or buffer is refused; [`GpuError::WrongKernel`] if a kernel is known to be wrong on this
    /// device.
    pub fn record(&self, label: &str, launches: &[(Dispatch, Vec<&Buffer>)]) -> Result<Recording, GpuError> {
        let passed_over = self.passed_over();
        match launches.iter().find(|(dispatch, _)| passed_over.is_wrong(dispatch.kernel)) {
            Some((dispatch, _)) => Err(GpuError::WrongKernel {
                adapter: self.adapter_name().into(),
                kernel: dispatch.kernel.name.into(),
            }),
            None => self.record_any(label, launches),
        }
    }

    /// As [`record`](Self::record), also with wrong kernels: for a check of them.
    pub(crate) fn record_any(
        &self,
        label: &str,
        launches: &[(Dispatch, Vec<&Buffer>)],
    ) -> Result<Recording, GpuError> {
        let mut params = vec![0u8; (launches.len().max(1) as u64 * PARAMS_SLOT) as usize];
        let mut commands = Vec::with_capacity(launches.len());
        for (slot, (dispatch, buffers)) in params.chunks_exact_mut(PARAMS_SLOT as usize).zip(launches) {
            assert_eq!(buffers.len(), dispatch.kernel.storage.len(), "bindings of {}", dispatch.kernel.name);
            let workgroups = self.within_limits(dispatch)?;
            slot[..dispatch.params.len()].copy_from_slice(&dispatch.params);
            let entries: Vec<_> = (0..)
                .zip(buffers)
                .map(|(binding, buffer)| wgpu::BindGroupEntry {
                    binding,
                    resource: buffer.handle.as_entire_binding(),
                })
                .collect();
            commands.push(Command {
                kernel: dispatch.kernel.name,
                pipeline: self.pipelines.get(&self.device, &self.params_layout, dispatch),
                storage: self.device.create_bind_group(&wgpu::BindGroupDescriptor {
                    label: Some(dispatch.kernel.name),
                    layout: &self.pipelines.storage_layout(&self.device, dispatch.kernel),
                    entries: &entries,
                }),
                _buffers: buffers.iter().map(|&buffer| buffer.clone()).collect(),
                workgroups,
            });
        }
        let uniform = self.uniform_buffer(&format!("{label}: params"), &params)?;
        let params = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("params"),
            layout: &self.params_layout,
            entries: &[wgpu::BindGroupEntry {
                binding: 0,
                resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                    buffer: &uniform,
                    offset: 0,
                    size: wgpu::BufferSize::new(PARAMS_SLOT),
                }),
            }],
        });
        self.tally.bind_groups.add(commands.len() as u64 + 1);
        self.check()?;
        Ok(Recording { label: label.to_owned(), commands, params, _uniform: uniform })
    }

    /// Compiles the pipelines of launches on all cores, for a [record](Self::record) of them.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn compile<'a>(&self, launches: impl Iterator<Item = &'a Dispatch>) {
        // what is beyond a limit is an error of the record
        let launches: Vec<_> = launches.filter(|launch| self.within_limits(launch).is_ok()).collect();
        self.pipelines.compile(&self.device, &self.params_layout, &launches);
    }

    /// The workgroups of a launch, folded as the device's limit requires.
    fn within_limits(&self, dispatch: &Dispatch) -> Result<[u32; 3], GpuError> {
        let limits = self.limits();
        let refuse = |limit, allowed: u32, needed| GpuError::Limit {
            adapter: self.adapter_name().into(),
            kernel: dispatch.kernel.name.into(),
            limit,
            allowed: allowed.into(),
            needed,
        };
        let (buffers, most) =
            (dispatch.kernel.storage.len() as u32, limits.max_storage_buffers_per_shader_stage);
        if buffers > most {
            return Err(refuse("max_storage_buffers_per_shader_stage", most, buffers.into()));
        }
        let most = limits.max_compute_workgroups_per_dimension;
        refold(dispatch.workgroups, most).ok_or_else(|| {
            let [x, y, _] = dispatch.workgroups.map(u64::from);
            refuse("max_compute_workgroups_per_dimension", most, (x * y).isqrt() + 1)
        })
    }

    /// Submits a recording `times` over in one compute pass, then copies each `(from, to)` pair for reading back.
    pub fn submit(
        &self,
        recording: &Recording,
        times: usize,
        copies: &[(&Buffer, &super::Readback)],
    ) -> Submission {
        let mut encoder = self.encoder(recording);
        if !self.runs_profiled(recording, times) {
            self.pass(&mut encoder, recording, (0..times).flat_map(|_| recording.launches()), None);
        }
        for (from, to) in copies {
            encoder.copy_buffer_to_buffer(&from.handle, 0, &to.handle, 0, from.bytes().min(to.bytes()));
        }
        Submission(self.send([encoder.finish()]))
    }

    /// Submits recordings in turn, once each.
    pub fn submit_in_turn<'a>(&self, recordings: impl Iterator<Item = &'a Recording>) {
        let buffers: Vec<_> = recordings
            .filter(|recording| !self.runs_profiled(recording, 1))
            .map(|recording| {
                let mut encoder = self.encoder(recording);
                self.pass(&mut encoder, recording, recording.launches(), None);
                encoder.finish()
            })
            .collect();
        self.send(buffers);
    }

    /// If the device is profiled, runs a recording launch by launch. Returns whether it did.
    fn runs_profiled(&self, recording: &Recording, times: usize) -> bool {
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(profile) = &mut *self.profile() {
            self.run_profiled(profile, recording, times);
            return true;
        }
        let _ = (recording, times);
        false
    }

    pub(super) fn encoder(&self, recording: &Recording) -> wgpu::CommandEncoder {
        let label = Some(recording.label.as_str());
        self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label })
    }

    /// Encodes launches of a recording as one compute pass.
    pub(super) fn pass<'a>(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        recording: &Recording,
        launches: impl Iterator<Item = (u64, &'a Command)>,
        timestamp_writes: Option<wgpu::ComputePassTimestampWrites<'_>>,
    ) {
        let label = Some(recording.label.as_str());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label, timestamp_writes });
        let mut dispatches = 0;
        for (slot, command) in launches {
            pass.set_pipeline(&command.pipeline);
            pass.set_bind_group(0, &command.storage, &[]);
            pass.set_bind_group(1, &recording.params, &[(slot * PARAMS_SLOT) as u32]);
            let [x, y, z] = command.workgroups;
            pass.dispatch_workgroups(x, y, z);
            dispatches += 1;
        }
        self.tally.dispatches.add(dispatches);
    }
}
