//! `wordloom inspect`

use std::path::PathBuf;

use serde_json::json;
use wordloom::Model;

use super::CliError;
use super::output::Output;

#[derive(clap::Args)]
pub struct Arguments {
    /// Hugging Face folder of the model [default: the embedded English–German one]
    #[arg(value_name = "DIR")]
    model: Option<PathBuf>,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: Arguments) -> Result<(), CliError> {
    let model = match &arguments.model {
        Some(folder) => Model::load(folder)?,
        None => Model::embedded()?,
    };
    let config = model.config();
    let tensors: Vec<_> = model
        .checkpoint()
        .names()
        .filter_map(|name| Some((name.to_owned(), model.checkpoint().info(name)?.clone())))
        .collect();
    let file_bytes = model.checkpoint().byte_len();
    let device_bytes = model.blueprint().table.elements() as u64 * 4;
    let mut output = Output::open(None)?;
    if arguments.json {
        let tensors: Vec<_> = tensors
            .iter()
            .map(|(name, info)| json!({ "name": name, "dtype": format!("{:?}", info.dtype), "shape": info.shape }))
            .collect();
        output.json(&json!({
            "model_type": config.family.model_type(),
            "d_model": config.d_model,
            "encoder": { "layers": config.encoder.layers, "heads": config.encoder.heads, "ffn_width": config.encoder.ffn_width },
            "decoder": { "layers": config.decoder.layers, "heads": config.decoder.heads, "ffn_width": config.decoder.ffn_width },
            "source_vocabulary": config.source_vocabulary,
            "target_vocabulary": config.target_vocabulary,
            "positions": config.positions.count(),
            "parameters": config.parameter_count(),
            "file_bytes": file_bytes,
            "device_bytes": device_bytes,
            "generation": model.generation_config(),
            "tensors": tensors,
        }))?;
        return output.flush();
    }
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    let stack = |stack: &wordloom::model::config::StackConfig| {
        format!(
            "{} layers, {} heads of {}, feed-forward {}",
            stack.layers, stack.heads, stack.head_width, stack.ffn_width
        )
    };
    let rows = [
        ("model", format!("{} ({})", model.label(), config.family.model_type())),
        ("width", format!("d_model {}", config.d_model)),
        ("encoder", stack(&config.encoder)),
        ("decoder", stack(&config.decoder)),
        ("vocabulary", match config.source_vocabulary == config.target_vocabulary {
            true => format!("{} tokens", config.source_vocabulary),
            false => format!("{} source, {} target tokens", config.source_vocabulary, config.target_vocabulary),
        }),
        ("positions", format!("{}, sinusoidal", config.positions.count())),
        ("norm", format!("{:?}-norm, activation {}", config.norm, config.activation.name()).to_lowercase()),
        ("parameters", config.parameter_count().to_string()),
        ("weights", format!("{} in {} tensors", megabytes(file_bytes), tensors.len())),
        ("on a device", format!("{} as f32, positions included", megabytes(device_bytes))),
    ];
    for (name, value) in rows {
        output.line(&format!("{name:<12} {value}"))?;
    }
    output.flush()
}
