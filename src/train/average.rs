//! The mean of several checkpoints of a model, which often does better than the last one.

use half::f16;
use safetensors::tensor::{Dtype, TensorView};

use super::folder::json_file;
use crate::model::ModelError;
use crate::model::checkpoint::Checkpoint;
use crate::model::files::{ModelFiles, is_companion};
use crate::precision::WeightPrecision;

/// Limit on each file beside the weights, bytes: vocabularies are the largest.
const FILE_LIMIT: u64 = 256 << 20;
const WEIGHTS: &str = "model.safetensors";
const CONFIG: &str = "config.json";
/// Files that say which word an id is.
const VOCABULARIES: &[&str] = &[
    "merges.txt",
    "sentencepiece.bpe.model",
    "source.spm",
    "spiece.model",
    "target.spm",
    "target_vocab.json",
    "tokenizer.json",
    "vocab.json",
    "vocab.txt",
];

/// Checkpoints without a mean.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum AverageError {
    #[error("there are no checkpoints; give at least one folder")]
    None,
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("{file} has no tensor {tensor:?}, which {first} has; all checkpoints must be of one model")]
    Missing { file: String, tensor: String, first: String },
    #[error("{file} has a tensor {tensor:?}, which {first} lacks; all checkpoints must be of one model")]
    Further { file: String, tensor: String, first: String },
    #[error(
        "{file}: the tensor {tensor:?} has the shape {shape:?}, in {first} {first_shape:?}; all checkpoints must be of one model"
    )]
    Shape { file: String, tensor: String, shape: Vec<usize>, first: String, first_shape: Vec<usize> },
    #[error(
        "{file} differs from {first}: the same ids are other words; all checkpoints must be of one model"
    )]
    Vocabulary { file: String, first: String },
    #[error(
        "the mean of the tensor {tensor:?} has the value {value}, which {precision} cannot hold; take f32"
    )]
    Overflow { tensor: String, value: f32, precision: &'static str },
    #[error("{precision} is no format of averaged weights; take f32 or f16")]
    Precision { precision: &'static str },
    #[error("{file} has another {key:?} than {first}; all checkpoints must be of one model")]
    Configuration { file: String, key: String, first: String },
    #[error("{file}: not a JSON object: {problem}")]
    Config { file: String, problem: String },
    #[error("the mean cannot be written as safetensors: {0}")]
    Safetensors(#[from] safetensors::SafeTensorError),
}

/// The mean of checkpoints as a safetensors file in f32 or f16. Sums are in f64.
///
/// Reads one tensor of all checkpoints after the other; only the mean is held in memory.
///
/// # Errors
/// [`AverageError`], with the tensor and the file that differ.
pub fn average(checkpoints: &[Checkpoint], precision: WeightPrecision) -> Result<Vec<u8>, AverageError> {
    let dtype = dtype(precision)?.0;
    let first = checkpoints.first().ok_or(AverageError::None)?;
    for other in &checkpoints[1..] {
        check_same(first, other)?;
    }
    let mut tensors = Vec::new();
    for name in first.names() {
        let info = first.info(name).expect("a listed tensor");
        let mean = mean(checkpoints, name, info.element_count())?;
        let overflow = precision.overflow(&mean);
        if let Some(value) = overflow {
            let (tensor, precision) = (name.to_owned(), precision.name());
            return Err(AverageError::Overflow { tensor, value, precision });
        }
        let bytes: Vec<u8> = match dtype {
            Dtype::F16 => mean.iter().flat_map(|&value| f16::from_f32(value).to_le_bytes()).collect(),
            _ => mean.iter().flat_map(|value| value.to_le_bytes()).collect(),
        };
        tensors.push((name, info.shape.clone(), bytes));
    }
    let views = tensors
        .iter()
        .map(|(name, shape, bytes)| Ok((name, TensorView::new(dtype, shape.clone(), bytes)?)))
        .collect::<Result<Vec<_>, safetensors::SafeTensorError>>()?;
    let metadata = [("format".to_owned(), "pt".to_owned())].into_iter().collect();
    Ok(safetensors::serialize(views, Some(metadata))?)
}

/// The files of a folder with the mean of several folders' weights, each file with its name. All but the weights are the first
/// folder's; `config.json` names the new type of weights. Files of weights in other formats, and of optimizers, are left out.
///
/// # Errors
/// [`AverageError`]
pub fn average_folders(
    folders: &[ModelFiles],
    precision: WeightPrecision,
) -> Result<Vec<(String, Vec<u8>)>, AverageError> {
    let dtype = dtype(precision)?.1;
    let first = folders.first().ok_or(AverageError::None)?;
    let checkpoints = folders.iter().map(Checkpoint::open).collect::<Result<Vec<_>, ModelError>>()?;
    let mut files = Vec::new();
    for name in first.names()?.into_iter().filter(|name| is_companion(name)) {
        let mut content = first.read(&name, FILE_LIMIT)?.into_owned();
        if VOCABULARIES.contains(&&*name) {
            // a folder may have weights alone
            for other in folders[1..].iter().filter(|other| other.has(&name)) {
                if !is_same(&name, &content, &other.read(&name, FILE_LIMIT)?) {
                    let (file, first) = (other.file_label(&name), first.file_label(&name));
                    return Err(AverageError::Vocabulary { file, first });
                }
            }
        }
        if name == CONFIG {
            for other in folders[1..].iter().filter(|other| other.has(&name)) {
                check_configuration(first, &content, other)?;
            }
            content = with_dtype(&first.file_label(&name), &content, dtype)?;
        }
        files.push((name, content));
    }
    files.push((WEIGHTS.to_owned(), average(&checkpoints, precision)?));
    Ok(files)
}

/// Keys of `config.json` that say how a checkpoint was written, and nothing of what it computes.
const OF_A_FILE: [&str; 6] =
    ["_commit_hash", "_name_or_path", "dtype", "torch_dtype", "transformers_version", "use_cache"];

/// Checks that two folders have the same configuration: tensors of the same shapes can belong to other models.
fn check_configuration(first: &ModelFiles, content: &[u8], other: &ModelFiles) -> Result<(), AverageError> {
    let [first, file] = [first, other].map(|files| files.file_label(CONFIG));
    let (one, two) = (object(&first, content)?, object(&file, &other.read(CONFIG, FILE_LIMIT)?)?);
    let differs = |key: &&String| !OF_A_FILE.contains(&key.as_str()) && one.get(*key) != two.get(*key);
    match one.keys().chain(two.keys()).find(differs) {
        Some(key) => Err(AverageError::Configuration { file, key: key.clone(), first }),
        None => Ok(()),
    }
}

/// Whether two files have the same content; JSON may be written in another way.
fn is_same(name: &str, one: &[u8], other: &[u8]) -> bool {
    let json = |bytes| serde_json::from_slice::<serde_json::Value>(bytes).ok();
    one == other || (name.ends_with(".json") && json(one).is_some() && json(one) == json(other))
}

/// The types of safetensors and of `config.json`.
fn dtype(precision: WeightPrecision) -> Result<(Dtype, &'static str), AverageError> {
    match precision {
        WeightPrecision::F32 => Ok((Dtype::F32, "float32")),
        WeightPrecision::F16 => Ok((Dtype::F16, "float16")),
        WeightPrecision::Q8 => Err(AverageError::Precision { precision: precision.name() }),
    }
}

fn check_same(first: &Checkpoint, other: &Checkpoint) -> Result<(), AverageError> {
    let label = || first.label().to_owned();
    let file = || other.label().to_owned();
    for name in first.names() {
        let shape = |checkpoint: &Checkpoint| checkpoint.info(name).map(|info| info.shape.clone());
        match (shape(first), shape(other)) {
            (_, None) => {
                return Err(AverageError::Missing { file: file(), tensor: name.to_owned(), first: label() });
            }
            (Some(first_shape), Some(shape)) if shape != first_shape => {
                let (file, tensor, first) = (file(), name.to_owned(), label());
                return Err(AverageError::Shape { file, tensor, shape, first, first_shape });
            }
            _ => {}
        }
    }
    match other.names().find(|name| !first.contains(name)) {
        Some(name) => Err(AverageError::Further { file: file(), tensor: name.to_owned(), first: label() }),
        None => Ok(()),
    }
}

fn mean(checkpoints: &[Checkpoint], name: &str, count: usize) -> Result<Vec<f32>, AverageError> {
    let mut values = vec![0.0; count];
    let mut sums = vec![0.0; count];
    for checkpoint in checkpoints {
        checkpoint.read(name, &mut values)?;
        sums.iter_mut().zip(&values).for_each(|(sum, &value)| *sum += f64::from(value));
    }
    let scale = checkpoints.len() as f64;
    values.iter_mut().zip(sums).for_each(|(value, sum)| *value = (sum / scale) as f32);
    Ok(values)
}

/// A `config.json` with another type of weights.
fn with_dtype(file: &str, content: &[u8], dtype: &str) -> Result<Vec<u8>, AverageError> {
    let mut config = object(file, content)?;
    config.remove("torch_dtype"); // the name of the key in older versions
    config.insert("dtype".to_owned(), dtype.into());
    Ok(json_file(&config.into()))
}

fn object(file: &str, content: &[u8]) -> Result<serde_json::Map<String, serde_json::Value>, AverageError> {
    let invalid =
        |error: serde_json::Error| AverageError::Config { file: file.to_owned(), problem: error.to_string() };
    serde_json::from_slice(content).map_err(invalid)
}
