//! `wordloom inspect`

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::json;
use wordloom::Model;
use wordloom::model::config::{EmbeddingSharing, NormPlacement, StackConfig};

use super::CliError;
use super::output::Output;
use super::setup::model_files;

#[derive(clap::Args)]
pub struct Arguments {
    /// Hugging Face folder [default: the built-in model]
    #[arg(value_name = "DIR")]
    model: Option<PathBuf>,
    /// Write JSON, with the table of tensors
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let model = Model::from_files(model_files(arguments.model.as_deref())?)?;
    let mut output = Output::open(None)?;
    match arguments.json {
        true => output.json(&as_json(&model))?,
        false => {
            for (name, value) in rows(&model) {
                output.line(&format!("{name:<12} {value}"))?;
            }
        }
    }
    output.flush()
}

/// Bytes that the weights take on a device, where they are f32.
fn device_bytes(model: &Model) -> u64 {
    model.blueprint().table.elements() as u64 * 4
}

fn as_json(model: &Model) -> serde_json::Value {
    let config = model.config();
    let stack = |stack: StackConfig| {
        json!({
            "layers": stack.layers,
            "heads": stack.heads,
            "d_k": stack.d_k,
            "d_v": stack.d_v,
            "ffn_width": stack.ffn_width,
        })
    };
    let checkpoint = model.checkpoint();
    let tensors: Vec<_> = checkpoint
        .names()
        .filter_map(|name| Some((name, checkpoint.info(name)?)))
        .map(|(name, info)| json!({ "name": name, "dtype": info.dtype.to_string(), "shape": info.shape }))
        .collect();
    json!({
        "model": model.label(),
        "model_type": config.family.model_type(),
        "d_model": config.d_model,
        "encoder": stack(config.encoder),
        "decoder": stack(config.decoder),
        "source_vocabulary": config.source_vocabulary,
        "target_vocabulary": config.target_vocabulary,
        "positions": config.positions.count(),
        "activation": config.activation.name(),
        "norm": norm(config.norm),
        "parameters": config.parameter_count(),
        "file_bytes": checkpoint.byte_len(),
        "device_bytes": device_bytes(model),
        "generation": model.generation_config(),
        "tokenizer": model.tokenizer().is_ok(),
        "tensors": tensors,
    })
}

fn norm(placement: NormPlacement) -> &'static str {
    match placement {
        NormPlacement::Pre => "pre",
        NormPlacement::Post => "post",
    }
}

fn rows(model: &Model) -> [(&'static str, String); 12] {
    let config = model.config();
    let stack = |stack: StackConfig| {
        let StackConfig { layers, heads, d_k, ffn_width, .. } = stack;
        format!("{layers} layers, {heads} heads of {d_k}, feed-forward {ffn_width}")
    };
    let vocabulary = match config.embeddings {
        EmbeddingSharing::Shared => {
            format!("{} tokens, shared by source and target", config.source_vocabulary)
        }
        EmbeddingSharing::Separate => {
            format!("{} source tokens, {} target tokens", config.source_vocabulary, config.target_vocabulary)
        }
    };
    let checkpoint = model.checkpoint();
    let dtypes: BTreeSet<String> =
        checkpoint.names().filter_map(|name| Some(checkpoint.info(name)?.dtype.to_string())).collect();
    let dtypes: Vec<String> = dtypes.into_iter().collect();
    let generation = model.generation_config();
    let beams = match generation.num_beams.unwrap_or(1) {
        1 => "greedy".to_owned(),
        beams => format!("{beams} beams"),
    };
    let length = match generation.max_length {
        Some(length) => format!("at most {length} tokens"),
        None => "at most 50 tokens more than the source".to_owned(),
    };
    let text = match model.tokenizer() {
        Ok(tokenizer) => match tokenizer.language_tags().len() {
            0 => "can be translated".to_owned(),
            tags => {
                format!("can be translated, to {tags} languages: {}", tokenizer.language_tags().join(" "))
            }
        },
        Err(error) => format!("cannot be translated, only token ids: {error}"),
    };
    [
        ("model", model.label().to_owned()),
        ("family", config.family.model_type().to_owned()),
        ("width", format!("d_model {}", config.d_model)),
        ("encoder", stack(config.encoder)),
        ("decoder", stack(config.decoder)),
        ("blocks", format!("{}-norm, activation {}", norm(config.norm), config.activation.name())),
        ("vocabulary", vocabulary),
        ("positions", format!("{}, {}", config.positions.count(), config.positions.name())),
        (
            "parameters",
            format!("{}, {} tensors", thousands(config.parameter_count()), checkpoint.names().count()),
        ),
        (
            "memory",
            format!(
                "{} in the file ({}), {} on a device (F32)",
                megabytes(checkpoint.byte_len()),
                dtypes.join(", "),
                megabytes(device_bytes(model))
            ),
        ),
        ("search", format!("{beams}, {length} (the model's own defaults)")),
        ("text", text),
    ]
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// 8375360 as "8,375,360".
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
