//! `wordloom forward`

use std::borrow::Cow;
use std::path::PathBuf;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use wordloom::transformer::{ForwardInput, Tensor};

use super::CliError;
use super::setup::{DeviceArguments, ModelArguments, transformer};

#[derive(clap::Args)]
pub struct Arguments {
    /// safetensors with input_ids, attention_mask, decoder_input_ids: I32 or I64, [batch, length]
    #[arg(short, long, value_name = "FILE")]
    input: PathBuf,
    /// safetensors to write: logits, encoder_last_hidden_state, encoder_attentions.N, decoder_attentions.N,
    /// cross_attentions.N, all F32
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    device: DeviceArguments,
}

pub fn run(arguments: Arguments) -> Result<(), CliError> {
    let name = arguments.input.display().to_string();
    let bytes = std::fs::read(&arguments.input)
        .map_err(|source| CliError::Io { what: format!("cannot read {name}"), source })?;
    let input = read_input(&name, &bytes)?;
    let transformer = transformer(&arguments.model, &arguments.device)?;
    let output = pollster::block_on(transformer.forward(&input))?;

    let mut tensors = vec![
        ("encoder_last_hidden_state".to_owned(), &output.encoder_last_hidden_state),
        ("logits".to_owned(), &output.logits),
    ];
    for (kind, layers) in [
        ("encoder_attentions", &output.encoder_attentions),
        ("decoder_attentions", &output.decoder_attentions),
        ("cross_attentions", &output.cross_attentions),
    ] {
        tensors.extend(layers.iter().enumerate().map(|(layer, tensor)| (format!("{kind}.{layer}"), tensor)));
    }
    let what = || format!("cannot write {}", arguments.output.display());
    let views = tensors.into_iter().map(|(name, tensor)| (name, Stored(tensor)));
    let bytes = safetensors::serialize(views, None)
        .map_err(|error| CliError::Input(format!("{}: {error}", what())))?;
    std::fs::write(&arguments.output, bytes).map_err(|source| CliError::Io { what: what(), source })
}

fn read_input(name: &str, bytes: &[u8]) -> Result<ForwardInput, CliError> {
    let file = SafeTensors::deserialize(bytes)
        .map_err(|error| CliError::Input(format!("{name}: not a sound safetensors file: {error}")))?;
    let tensor = |key: &str| {
        file.tensor(key).map_err(|_| CliError::Input(format!("{name}: there is no tensor {key}")))
    };
    let input_ids = tensor("input_ids")?;
    let decoder_input_ids = tensor("decoder_input_ids")?;
    let [batch, source_length] = matrix_shape(name, "input_ids", &input_ids)?;
    let [target_batch, target_length] = matrix_shape(name, "decoder_input_ids", &decoder_input_ids)?;
    if target_batch != batch {
        return Err(CliError::Input(format!(
            "{name}: input_ids has {batch} sentences, but decoder_input_ids {target_batch}"
        )));
    }
    let attention_mask = match file.tensor("attention_mask") {
        Err(_) => vec![1; batch * source_length],
        Ok(mask) => {
            let shape = matrix_shape(name, "attention_mask", &mask)?;
            if shape != [batch, source_length] {
                return Err(CliError::Input(format!(
                    "{name}: attention_mask is {shape:?}, but input_ids is {:?}",
                    [batch, source_length]
                )));
            }
            integers(name, "attention_mask", &mask)?
        }
    };
    Ok(ForwardInput {
        batch,
        source_length,
        target_length,
        input_ids: integers(name, "input_ids", &input_ids)?,
        attention_mask,
        decoder_input_ids: integers(name, "decoder_input_ids", &decoder_input_ids)?,
    })
}

fn matrix_shape(name: &str, key: &str, tensor: &TensorView<'_>) -> Result<[usize; 2], CliError> {
    tensor.shape().try_into().map_err(|_| {
        CliError::Input(format!("{name}: {key} is {:?}, but [batch, length] is needed", tensor.shape()))
    })
}

fn integers(name: &str, key: &str, tensor: &TensorView<'_>) -> Result<Vec<u32>, CliError> {
    let wide: Vec<i64> = match tensor.dtype() {
        Dtype::I32 => tensor
            .data()
            .as_chunks()
            .0
            .iter()
            .map(|&bytes| i32::from_le_bytes(bytes).into())
            .collect(),
        Dtype::I64 => tensor.data().as_chunks().0.iter().map(|&bytes| i64::from_le_bytes(bytes)).collect(),
        other => {
            return Err(CliError::Input(format!("{name}: {key} is {other:?}, but I32 or I64 is needed")));
        }
    };
    wide.into_iter()
        .map(|value| {
            u32::try_from(value).map_err(|_| CliError::Input(format!("{name}: {key} has the value {value}")))
        })
        .collect()
}

/// A host tensor as safetensors stores it.
struct Stored<'a>(&'a Tensor);

impl safetensors::View for Stored<'_> {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        &self.0.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        match cfg!(target_endian = "little") {
            true => Cow::Borrowed(bytemuck::cast_slice(&self.0.data)),
            false => self.0.data.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>().into(),
        }
    }

    fn data_len(&self) -> usize {
        self.0.data.len() * 4
    }
}
