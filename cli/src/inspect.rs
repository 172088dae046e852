//! `wordloom inspect`

mod launches;
mod trial;

use std::collections::BTreeSet;
use std::path::PathBuf;

use safetensors::Dtype;
use serde_json::json;
use wordloom::model::config::{
    Architecture, EmbeddingSharing, Mixer, ModelConfig, NormPlacement, StackConfig,
};
use wordloom::model::files::ModelFiles;
use wordloom::precision::PrecisionChoice;
use wordloom::readable::{counted, grouped};
use wordloom::text::Task;
use wordloom::{Model, WeightPrecision};

use super::CliError;
use super::output::Output;
use super::setup::{DeviceArguments, ModelArgument, whole};
use trial::Trial;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArgument,
    /// A config.json alone; weights are made up
    #[arg(long, value_name = "FILE", conflicts_with_all = ["model", "named"])]
    config: Option<PathBuf>,
    /// What the weights of --config depend on
    #[arg(long, value_name = "N", value_parser = whole, default_value_t = 0, requires = "config")]
    seed: u64,
    /// Run a short forward pass and some decoding steps, too
    #[arg(long)]
    run: bool,
    #[command(flatten)]
    launches: launches::Arguments,
    #[command(flatten)]
    device: DeviceArguments,
    /// Write JSON, with the table of tensors
    #[arg(long)]
    json: bool,
}

/// Refuses options of a run without `--run`.
fn check_options(arguments: &Arguments) -> Result<(), CliError> {
    let Arguments { run, launches, device, .. } = arguments;
    let given = match (device.device_is_named(), device.weights) {
        (true, _) => "--device",
        (_, weights) if weights != PrecisionChoice::default() && !launches.launches => "--weights",
        _ => return Ok(()),
    };
    match run {
        true => Ok(()),
        false => Err(CliError::Usage(format!(
            "{given} says how the model runs, and inspect only reads its files: add --run, or leave {given} out"
        ))),
    }
}

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    check_options(arguments)?;
    let model = match &arguments.config {
        Some(file) => Model::random(ModelFiles::configuration(file), arguments.seed)?,
        None => Model::from_files(arguments.model.files()?)?,
    };
    let trial = arguments.run.then(|| Trial::run(&model, &arguments.device)).transpose()?;
    let mut output = Output::open(None)?;
    if arguments.launches.launches {
        arguments.launches.list(&model, arguments.device.weights, &mut output)?;
        return output.flush();
    }
    match arguments.json {
        true => output.json(&as_json(&model, trial.as_ref()))?,
        false => {
            for (name, value) in rows(&model, trial.as_ref()) {
                output.line(&format!("{name:<12} {value}"))?;
            }
        }
    }
    output.flush()
}

/// Bytes of the weights on a device, without padding.
fn device_bytes(model: &Model, precision: WeightPrecision) -> u64 {
    model.blueprint().table.bytes(precision)
}

fn as_json(model: &Model, trial: Option<&Trial>) -> serde_json::Value {
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
    let tokenizer = model.tokenizer();
    let languages = tokenizer.as_ref().map(|tokenizer| tokenizer.languages()).unwrap_or_default();
    let task = |task: &Task| json!({ "name": task.name, "prefix": task.prefix, "options": task.options });
    json!({
        "model": model.label(),
        "model_type": config.family.model_type(),
        "d_model": config.d_model,
        "encoder": stack(config.encoder),
        "decoder": stack(config.decoder),
        "decoder_is_recurrent": config.decoder_mixer == Mixer::Ssru,
        "source_vocabulary": config.source_vocabulary,
        "target_vocabulary": config.target_vocabulary,
        "positions": Some(config.positions.count()).filter(|&count| count < usize::MAX),
        "activation": config.activation.name(),
        "norm": norm(config.norm),
        "parameters": config.parameter_count(),
        "parameters_by_part": config.parameters(),
        "random_weights": checkpoint.is_random(),
        "run": trial.map(Trial::json),
        "format": Some(checkpoint.format()).filter(|_| !checkpoint.is_random()),
        "file_bytes": checkpoint.byte_len(),
        "device_bytes": device_bytes(model, WeightPrecision::F32),
        "device_bytes_f16": device_bytes(model, WeightPrecision::F16),
        "device_bytes_q8": device_bytes(model, WeightPrecision::Q8),
        "generation": model.generation_config(),
        "tokenizer": tokenizer.is_ok(),
        "languages": languages,
        "tasks": tokenizer.map(|tokenizer| tokenizer.tasks().iter().map(task).collect()).unwrap_or_else(|_| Vec::new()),
        "tensors": tensors,
    })
}

fn norm(placement: NormPlacement) -> &'static str {
    match placement {
        NormPlacement::Pre => "pre",
        NormPlacement::Post => "post",
    }
}

fn rows(model: &Model, trial: Option<&Trial>) -> Vec<(&'static str, String)> {
    let config = model.config();
    let stack = |stack: StackConfig| {
        if stack == StackConfig::NONE {
            return "none".to_owned();
        }
        let StackConfig { layers, heads, d_k, d_v, ffn_width } = stack;
        let values = if d_v == d_k { String::new() } else { format!(" and values of {d_v}") };
        let (layers, heads) = (counted(layers, "layer"), counted(heads, "head"));
        format!("{layers}, {heads} of {d_k}{values}, feed-forward {ffn_width}")
    };
    let vocabulary = match config.embeddings {
        EmbeddingSharing::Shared if config.architecture() != Architecture::EncoderDecoder => {
            format!("{} tokens", config.source_vocabulary)
        }
        EmbeddingSharing::Shared => {
            format!("{} tokens, shared by source and target", config.source_vocabulary)
        }
        EmbeddingSharing::Separate => {
            format!("{} source tokens, {} target tokens", config.source_vocabulary, config.target_vocabulary)
        }
    };
    let generation = model.generation_config();
    let beams = match generation.num_beams.unwrap_or(1) {
        1 => "greedy".to_owned(),
        beams => format!("{beams} beams"),
    };
    let length = match generation.max_length {
        Some(length) => format!("at most {length} tokens"),
        None => "at most 50 tokens more than the input".to_owned(),
    };
    let search = match config.architecture() {
        Architecture::EncoderOnly => "none, as there is no decoder".to_owned(),
        _ => format!("{beams}, {length} (the model's own defaults)"),
    };
    let positions = match config.positions.count() {
        usize::MAX => format!("no limit, {}", config.positions.name()),
        count => format!("{count}, {}", config.positions.name()),
    };
    let recurrent = match config.decoder_mixer {
        Mixer::Attention => "",
        Mixer::Ssru => "; a recurrent unit (SSRU) instead of self-attention",
    };
    let [f32, f16, q8] = WeightPrecision::ALL.map(|precision| megabytes(device_bytes(model, precision)));
    let rows = [
        ("model", model.label().to_owned()),
        ("family", config.family.model_type().to_owned()),
        ("width", format!("d_model {}", config.d_model)),
        ("encoder", stack(config.encoder)),
        ("decoder", stack(config.decoder) + recurrent),
        ("blocks", format!("{}-norm, activation {}", norm(config.norm), config.activation.name())),
        ("vocabulary", vocabulary),
        ("positions", positions),
        (
            "parameters",
            format!("{}, {} tensors", grouped(config.parameter_count()), model.checkpoint().names().count()),
        ),
        ("", parts(config)),
        ("a layer", blocks(config)),
        ("memory", format!("{}, {f32} on a device in f32, {f16} in f16, {q8} in q8", stored(model))),
        ("search", search),
        ("text", text(model)),
    ];
    rows.into_iter().chain(trial.map(|trial| ("run", trial.text()))).collect()
}

/// How the weights are stored.
fn stored(model: &Model) -> String {
    let checkpoint = model.checkpoint();
    if checkpoint.is_random() {
        return "no file, random weights".to_owned();
    }
    let dtypes = checkpoint.names().filter_map(|name| {
        Some(match checkpoint.info(name)?.dtype {
            Dtype::I8 => "I8 with scales".to_owned(),
            dtype => dtype.to_string(),
        })
    });
    let dtypes: Vec<String> = dtypes.collect::<BTreeSet<_>>().into_iter().collect();
    let (bytes, format) = (megabytes(checkpoint.byte_len()), checkpoint.format());
    format!("{bytes} in the file ({format}, {})", dtypes.join(", "))
}

/// How text becomes tokens.
fn text(model: &Model) -> String {
    match model.tokenizer() {
        _ if model.checkpoint().is_random() => "none: the words of random weights mean nothing".to_owned(),
        Ok(tokenizer) => {
            let mut text = format!("tokenizer in {}", tokenizer.origin());
            if let languages @ [_, ..] = &tokenizer.languages()[..] {
                text += &format!(", {}: {}", counted(languages.len(), "language"), languages.join(" "));
            }
            if let tasks @ [_, ..] = tokenizer.tasks() {
                let one = |task: &Task| match &*task.prefix {
                    "" => task.name.clone(),
                    prefix => format!("{} {prefix:?}", task.name),
                };
                text += &format!("; tasks: {}", tasks.iter().map(one).collect::<Vec<_>>().join(", "));
            }
            text
        }
        Err(error) => format!("cannot be translated, only token ids: {error}"),
    }
}

/// Embeddings 18,944,000 + …
fn parts(config: &ModelConfig) -> String {
    let parts = config.parameters();
    let parts = [
        ("embeddings", parts.embeddings),
        ("encoder", parts.encoder),
        ("decoder", parts.decoder),
        ("output", parts.output),
    ];
    let parts = parts.iter().filter(|(_, count)| *count > 0);
    parts.map(|(name, count)| format!("{name} {}", grouped(*count))).collect::<Vec<_>>().join(" + ")
}

/// Weights of a layer's blocks; in the paper 4 · d_model² and 8 · d_model².
fn blocks(config: &ModelConfig) -> String {
    let stack = if config.encoder.layers > 0 { &config.encoder } else { &config.decoder };
    let d_model = config.d_model as u64;
    let squares = |weights: u64| {
        let multiple = weights as f64 / (d_model * d_model) as f64;
        format!("{} = {} d_model²", grouped(weights), (multiple * 100.0).round() / 100.0)
    };
    format!(
        "attention {}, feed-forward {}, without biases and norms",
        squares(config.attention_weights(stack)),
        squares(config.feed_forward_weights(stack))
    )
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
