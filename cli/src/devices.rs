//! `wordloom devices`

use serde_json::json;
use wordloom::gpu;
use wordloom::kernels::AdapterClass;

use super::CliError;
use super::output::Output;

#[derive(clap::Args)]
pub struct Arguments {
    /// Write JSON, with limits and features
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
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
        output.line(&format!("{} ({}, {})", adapter.name(), adapter.kind(), adapter.backend()))?;
        output.line(&format!("    driver     {}", adapter.driver()))?;
        output.line(&format!(
            "    memory     buffers up to {} MiB, {} MiB of one bound at a time",
            limits.max_buffer_size >> 20,
            limits.max_storage_buffer_binding_size >> 20
        ))?;
        output.line(&format!(
            "    workgroup  {} invocations, {} KiB of shared memory",
            limits.max_compute_invocations_per_workgroup,
            limits.max_compute_workgroup_storage_size >> 10
        ))?;
        if adapter.hands_out_pipelines() {
            output.line(&match gpu::pipeline_folder() {
                Some(folder) => format!(
                    "    pipelines  kept in {}; WORDLOOM_PIPELINE_CACHE is another folder, or off",
                    folder.display()
                ),
                None => {
                    "    pipelines  compiled in each run: WORDLOOM_PIPELINE_CACHE gives no folder".to_owned()
                }
            })?;
        }
    }
    output.line(&format!("CPU ({threads} threads)"))?;
    output.line(&match chosen {
        Some(adapter) => format!("\n--device auto takes {}, the best hardware GPU.", adapter.name()),
        None => "\n--device auto takes the CPU: there is no hardware GPU.".to_owned(),
    })?;
    output.flush()
}
