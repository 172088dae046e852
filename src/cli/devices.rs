//! `wordloom devices`

use serde_json::json;
use wordloom::gpu;
use wordloom::kernels::AdapterClass;

use super::CliError;
use super::output::Output;

#[derive(clap::Args)]
pub struct Arguments {
    /// Write JSON with all limits and features
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: Arguments) -> Result<(), CliError> {
    let adapters = pollster::block_on(gpu::adapters());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let chosen = adapters.first().filter(|adapter| adapter.class() == AdapterClass::Hardware);
    let mut output = Output::open(None)?;
    if arguments.json {
        let gpus: Vec<_> = adapters
            .iter()
            .map(|adapter| {
                let features: Vec<&str> = adapter.features().iter_names().map(|(name, _)| name).collect();
                let limits = adapter.limits();
                json!({
                    "name": adapter.name(),
                    "kind": adapter.kind(),
                    "backend": adapter.backend(),
                    "driver": adapter.driver(),
                    "features": features,
                    "limits": {
                        "max_buffer_size": limits.max_buffer_size,
                        "max_storage_buffer_binding_size": limits.max_storage_buffer_binding_size,
                        "max_storage_buffers_per_shader_stage": limits.max_storage_buffers_per_shader_stage,
                        "max_compute_workgroup_storage_size": limits.max_compute_workgroup_storage_size,
                        "max_compute_invocations_per_workgroup": limits.max_compute_invocations_per_workgroup,
                        "max_compute_workgroups_per_dimension": limits.max_compute_workgroups_per_dimension,
                    },
                })
            })
            .collect();
        let auto = chosen.map_or("cpu", |adapter| adapter.name());
        output.json(&json!({ "gpus": gpus, "cpu": { "threads": threads }, "auto": auto }))?;
        return output.flush();
    }
    for adapter in &adapters {
        let limits = adapter.limits();
        let mark = if chosen.is_some_and(|best| std::ptr::eq(best, adapter)) { "*" } else { " " };
        output.line(&format!("{mark} {} ({}, {})", adapter.name(), adapter.kind(), adapter.backend()))?;
        output.line(&format!("    driver {}", adapter.driver()))?;
        output.line(&format!(
            "    buffers up to {} MiB, bindings up to {} MiB, {} KiB of workgroup memory, {} invocations a workgroup",
            limits.max_buffer_size >> 20,
            limits.max_storage_buffer_binding_size >> 20,
            limits.max_compute_workgroup_storage_size >> 10,
            limits.max_compute_invocations_per_workgroup,
        ))?;
    }
    let mark = if chosen.is_none() { "*" } else { " " };
    output.line(&format!("{mark} CPU ({threads} threads)"))?;
    output.line("\n* is what --device auto takes: a hardware GPU, else the CPU.")?;
    output.flush()
}
