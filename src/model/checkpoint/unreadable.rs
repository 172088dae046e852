//! Folders without weights of the usual names: one file of another name is read; other formats are named, with the way out.

use super::reader::Found;
use super::{header, pickle};
use crate::model::error::ModelError;
use crate::model::files::ModelFiles;
use crate::model::json::JsonObject;

/// Formats that are not read: end of the file's name, what it is, and the way out.
const FOREIGN: [(&str, &str, &str); 10] = [
    (
        "tf_model.h5",
        "weights for TensorFlow",
        "convert them with transformers 4: AutoModelForSeq2SeqLM.from_pretrained(DIR, from_tf=True).save_pretrained(DIR)",
    ),
    (
        "flax_model.msgpack",
        "weights for Flax",
        "convert them with transformers 4: AutoModelForSeq2SeqLM.from_pretrained(DIR, from_flax=True).save_pretrained(DIR)",
    ),
    (
        "rust_model.ot",
        "weights for rust-bert",
        "get model.safetensors or pytorch_model.bin of the same model",
    ),
    (
        ".gguf",
        "weights for llama.cpp",
        "get model.safetensors or pytorch_model.bin of the model that it was made from",
    ),
    (
        ".onnx",
        "a graph for ONNX",
        "get model.safetensors or pytorch_model.bin of the model that it was exported from",
    ),
    (
        ".tflite",
        "a graph for TensorFlow Lite",
        "get model.safetensors or pytorch_model.bin of the model that it was made from",
    ),
    (".npz", "weights for Marian", "convert them with transformers: convert_marian_to_pytorch.py"),
    (
        "model.bin",
        "weights for CTranslate2",
        "get model.safetensors or pytorch_model.bin of the model that it was made from",
    ),
    (".ckpt", "a training checkpoint", "get the model that was published, with model.safetensors"),
    (".nemo", "an archive for NeMo", "get model.safetensors of the same model"),
];
/// What training leaves beside weights.
const NOT_WEIGHTS: [&str; 5] = ["optimizer", "scheduler", "scaler", "rng_state", "training_args"];
const ADAPTERS: [&str; 2] = ["adapter_model.safetensors", "adapter_model.bin"];
/// Number of file names in a message.
const NAMED: usize = 8;

/// Opens the only file of weights whose name is another than the usual one, such as `model.fp16.safetensors`.
pub fn open_other_name(files: &ModelFiles) -> Result<Option<Found>, ModelError> {
    match &candidates(&files.names()?)[..] {
        [name] if name.ends_with(".safetensors") => header::NAMES.open_file(files, name).map(Some),
        [name] => pickle::NAMES.open_file(files, name).map(Some),
        _ => Ok(None),
    }
}

/// Files that hold a whole model; of PyTorch only if there are no safetensors.
fn candidates(names: &[String]) -> Vec<&str> {
    let whole = || {
        let names = names.iter().map(String::as_str);
        names.filter(|name| !is_shard(name) && !name.starts_with("adapter"))
    };
    let safetensors: Vec<&str> = whole().filter(|name| name.ends_with(".safetensors")).collect();
    if !safetensors.is_empty() {
        return safetensors;
    }
    let is_torch = |name: &&str| {
        let variant = name.starts_with("pytorch_model.") && name.ends_with(".bin");
        let other = name.ends_with(".pt") || name.ends_with(".pth");
        variant || other && !NOT_WEIGHTS.iter().any(|start| name.starts_with(start))
    };
    whole().filter(is_torch).collect()
}

/// Whether a name is that of a shard: `…-00001-of-00003.…`.
fn is_shard(name: &str) -> bool {
    let Some((before, after)) = name.rsplit_once("-of-") else { return false };
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    digits(after) > 0 && before.ends_with(|last: char| last.is_ascii_digit())
}

/// The error for a folder whose weights no reader takes.
pub fn explain(files: &ModelFiles) -> Result<ModelError, ModelError> {
    let names = files.names()?;
    let found = foreign(files, &names)?.unwrap_or_else(|| {
        let listed = names.iter().take(NAMED).map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
        match names.len() {
            0 => "the folder is empty".to_owned(),
            1..=NAMED => format!("there is only {listed}; is this the folder of a Hugging Face model?"),
            count => format!(
                "there are {listed} and {} more files; is this the folder of a Hugging Face model?",
                count - NAMED
            ),
        }
    });
    Ok(ModelError::NoWeights { folder: files.label().to_owned(), found })
}

/// The error for a folder without a configuration, if its files show what it is.
pub fn explain_without_configuration(files: &ModelFiles) -> Option<ModelError> {
    let names = files.names().ok()?;
    // weights that could be read, so that only the configuration is missing
    let indices = [header::NAMES.index, pickle::NAMES.index];
    if !candidates(&names).is_empty() || indices.iter().any(|index| files.has(index)) {
        return None;
    }
    let found = foreign(files, &names).ok()??;
    Some(ModelError::NoWeights { folder: files.label().to_owned(), found })
}

/// The weights in another form, and the way out.
fn foreign(files: &ModelFiles, names: &[String]) -> Result<Option<String>, ModelError> {
    if let Some(shard) = names.iter().find(|name| is_shard(name) && !name.ends_with(".json")) {
        let index = if shard.ends_with(".bin") { pickle::NAMES.index } else { header::NAMES.index };
        return Ok(Some(format!(
            "{shard:?} is a part of the weights, but {index:?}, which lists all parts, is missing: get it, too"
        )));
    }
    if let Some(adapter) = ADAPTERS.into_iter().find(|name| files.has(name)) {
        return adapter_of(files, adapter).map(Some);
    }
    if let several @ [_, _, ..] = &candidates(names)[..] {
        let several =
            several.iter().take(NAMED).map(|name| format!("{name:?}")).collect::<Vec<_>>().join(" and ");
        return Ok(Some(format!(
            "there are {several}: rename the one to use to \"model.safetensors\" (or \"pytorch_model.bin\")"
        )));
    }
    let named = FOREIGN.iter().find_map(|(end, what, remedy)| {
        let name = names.iter().find(|name| name.ends_with(end))?;
        Some(format!("{name:?} is {what}, which Wordloom does not read: {remedy}"))
    });
    Ok(named)
}

/// An adapter holds differences to the weights of another model.
fn adapter_of(files: &ModelFiles, adapter: &str) -> Result<String, ModelError> {
    const CONFIGURATION: &str = "adapter_config.json";
    let base: Option<String> = match files.has(CONFIGURATION) {
        true => JsonObject::read(files, CONFIGURATION)?.get("base_model_name_or_path")?,
        false => None,
    };
    let base = base.map(|base| format!(" of {base:?}")).unwrap_or_default();
    Ok(format!(
        "{adapter:?} is an adapter (LoRA), the differences to the weights{base}: merge it into that model with PEFT: \
         AutoPeftModelForSeq2SeqLM.from_pretrained(DIR).merge_and_unload().save_pretrained(NEW_DIR)"
    ))
}
