//! `wordloom forward`

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use wordloom::Model;
use wordloom::model::config::Architecture;
use wordloom::transformer::{
    ForwardError, ForwardInput, ForwardOutput, ForwardSelection, TapInfo, Tensor, taps,
};

use super::CliError;
use super::output::{Output, cannot_write, check_different, is_standard};
use super::setup::{AttentionArguments, DeviceArguments, ModelArguments, SwitchArguments};

#[derive(clap::Args)]
#[command(after_help = "\
Read (I32 or I64):
  input_ids, attention_mask                [batch, source length]
  token_type_ids, global_attention_mask    [batch, source length]
  decoder_input_ids                        [batch, target length]
Written (F32), N counting layers from 0:
  logits                                   [batch, target length, vocabulary]
  encoder_last_hidden_state                [batch, source length, d_model]
  encoder_ and decoder_hidden_states.N     [batch, length, d_model]
  encoder_attentions.N, decoder_attentions.N, cross_attentions.N
                                           [batch, heads, queries, keys]
  With windows (LED): encoder_attentions.N [batch, heads, queries,
                                           globals + window], and
  encoder_global_attentions.N              [batch, heads, globals, keys]
Models of one stack (BERT, GPT-2) take no decoder_input_ids and write logits,
hidden_states.N and attentions.N. Without attention_mask, every token is
attended to.")]
pub struct Arguments {
    /// Sources and targets, as safetensors
    #[arg(short, long, value_name = "FILE", required_unless_present = "taps")]
    input: Option<PathBuf>,
    /// Where results go, as safetensors
    #[arg(short, long, value_name = "FILE", required_unless_present = "taps")]
    output: Option<PathBuf>,
    /// Write only this point, such as encoder.*.self.scores
    #[arg(long, value_name = "NAME")]
    tap: Vec<String>,
    /// List the points and their shapes
    #[arg(long, conflicts_with_all = ["input", "output", "tap"])]
    taps: bool,
    #[command(flatten)]
    switches: SwitchArguments,
    #[command(flatten)]
    attention: AttentionArguments,
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    device: DeviceArguments,
}

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let (Some(input), Some(output)) = (&arguments.input, &arguments.output) else {
        return list_taps(&arguments.model.open()?);
    };
    check_different(Some(input), Some(output))?;
    let name = if is_standard(input) { "standard input".into() } else { input.display().to_string() };
    let bytes = read_file(input)?;
    let model = arguments.model.open()?;
    let architecture = model.config().architecture();
    let input = read_input(&name, &bytes, architecture)?;
    let mut transformer = arguments.device.transformer(&model)?;
    arguments.attention.apply(&mut transformer)?;
    arguments.switches.apply(&mut transformer, &model)?;
    let selection = match arguments.tap.is_empty() {
        true => ForwardSelection::all(model.config()),
        false => ForwardSelection { taps: arguments.tap.clone(), ..ForwardSelection::default() },
    };
    let results =
        pollster::block_on(transformer.forward_selected(&input, &selection)).map_err(
            |error| match error {
                ForwardError::Gpu(_) => error.into(),
                ForwardError::Tap { .. } => CliError::Usage(error.to_string()),
                about_input => CliError::Input(format!("{name}: {about_input}")),
            },
        )?;
    match arguments.tap.is_empty() {
        true => write_tensors(output, named(&results, architecture)),
        false => {
            let tapped = results.taps.iter().map(|(name, tensor)| (name.clone(), tensor)).collect();
            write_tensors(output, tapped)
        }
    }
}

/// Writes one line per tap: name and shape.
fn list_taps(model: &Model) -> Result<(), CliError> {
    let taps = taps(model)?;
    let width = taps.iter().map(|tap| tap.name.len()).max().unwrap_or(0);
    let mut output = Output::open(None)?;
    for TapInfo { name, shape } in &taps {
        output.line(&format!("{name:width$}  {shape}"))?;
    }
    output.flush()
}

fn read_file(path: &Path) -> Result<Vec<u8>, CliError> {
    /// Bytes of the largest file; ids and masks are small.
    const LIMIT: u64 = 1 << 30;
    let mut bytes = Vec::new();
    let read = match is_standard(path) {
        true => io::stdin().take(LIMIT + 1).read_to_end(&mut bytes),
        false => File::open(path).and_then(|file| file.take(LIMIT + 1).read_to_end(&mut bytes)),
    };
    read.map_err(|source| CliError::Io { what: format!("cannot read {}", path.display()), source })?;
    if bytes.len() as u64 > LIMIT {
        return Err(CliError::Input(format!(
            "{}: is longer than {LIMIT} bytes; split the batch",
            path.display()
        )));
    }
    Ok(bytes)
}

/// The names of all results.
fn named(output: &ForwardOutput, architecture: Architecture) -> Vec<(String, &Tensor)> {
    let mut tensors = vec![("logits".to_owned(), &output.logits)];
    let [encoder, decoder] = match architecture {
        Architecture::EncoderDecoder => ["encoder_", "decoder_"],
        Architecture::EncoderOnly | Architecture::DecoderOnly => [""; 2],
    };
    if architecture == Architecture::EncoderDecoder {
        tensors.push(("encoder_last_hidden_state".to_owned(), &output.encoder_last_hidden_state));
    }
    for (stack, kind, layers) in [
        (encoder, "hidden_states", &output.encoder_hidden_states),
        (decoder, "hidden_states", &output.decoder_hidden_states),
        (encoder, "attentions", &output.encoder_attentions),
        (encoder, "global_attentions", &output.encoder_global_attentions),
        (decoder, "attentions", &output.decoder_attentions),
        ("cross_", "attentions", &output.cross_attentions),
    ] {
        let named = |(layer, tensor)| (format!("{stack}{kind}.{layer}"), tensor);
        tensors.extend(layers.iter().enumerate().map(named));
    }
    tensors
}

fn write_tensors(path: &Path, tensors: Vec<(String, &Tensor)>) -> Result<(), CliError> {
    let views = tensors.into_iter().map(|(name, tensor)| (name, Stored(tensor)));
    let bytes = safetensors::serialize(views, None)
        .map_err(|error| CliError::Input(format!("cannot write {}: {error}", path.display())))?;
    match is_standard(path) {
        true => Output::open(None)?.bytes(&bytes),
        false => fs::write(path, bytes).map_err(|source| cannot_write(path, source)),
    }
}

/// The tensors of an input file.
const INPUTS: [&str; 5] =
    ["input_ids", "attention_mask", "token_type_ids", "decoder_input_ids", "global_attention_mask"];

fn read_input(name: &str, bytes: &[u8], architecture: Architecture) -> Result<ForwardInput, CliError> {
    let file = SafeTensors::deserialize(bytes)
        .map_err(|error| CliError::Input(format!("{name}: not a sound safetensors file: {error}")))?;
    // one that is ignored would be a silent mistake
    if let Some(other) = file.names().into_iter().find(|other| !INPUTS.contains(other)) {
        return Err(CliError::Input(format!(
            "{name}: {other:?} is no input of forward; there are {}",
            INPUTS.join(", ")
        )));
    }
    let tensor = |key: &str| {
        file.tensor(key).map_err(|_| CliError::Input(format!("{name}: there is no tensor {key}")))
    };
    let input_ids = tensor("input_ids")?;
    let source_shape = matrix_shape(name, "input_ids", &input_ids)?;
    let [batch, source_length] = source_shape;
    // tensors with one value per input id
    let beside = |key: &str| {
        let Ok(tensor) = file.tensor(key) else {
            return Ok(None);
        };
        let shape = matrix_shape(name, key, &tensor)?;
        if shape != source_shape {
            return Err(CliError::Input(format!(
                "{name}: {key} is {shape:?}, but input_ids is {source_shape:?}: both need the same shape"
            )));
        }
        integers(name, key, &tensor).map(Some)
    };
    let mut input = ForwardInput {
        batch,
        source_length,
        target_length: 0,
        input_ids: integers(name, "input_ids", &input_ids)?,
        attention_mask: beside("attention_mask")?.unwrap_or_else(|| vec![1; batch * source_length]),
        token_type_ids: beside("token_type_ids")?.unwrap_or_default(),
        decoder_input_ids: Vec::new(),
        global_attention_mask: beside("global_attention_mask")?.unwrap_or_default(),
    };
    if architecture == Architecture::EncoderDecoder || file.tensor("decoder_input_ids").is_ok() {
        let decoder_input_ids = tensor("decoder_input_ids")?;
        let target_shape = matrix_shape(name, "decoder_input_ids", &decoder_input_ids)?;
        if target_shape[0] != batch {
            return Err(CliError::Input(format!(
                "{name}: decoder_input_ids is {target_shape:?}, but input_ids is {source_shape:?}: both need the same batch"
            )));
        }
        input.target_length = target_shape[1];
        input.decoder_input_ids = integers(name, "decoder_input_ids", &decoder_input_ids)?;
    }
    Ok(input)
}

fn matrix_shape(name: &str, key: &str, tensor: &TensorView<'_>) -> Result<[usize; 2], CliError> {
    tensor.shape().try_into().map_err(|_| {
        CliError::Input(format!("{name}: {key} is {:?}, but [batch, length] is needed", tensor.shape()))
    })
}

fn integers(name: &str, key: &str, tensor: &TensorView<'_>) -> Result<Vec<u32>, CliError> {
    let wide: Vec<i64> = match tensor.dtype() {
        Dtype::I32 => {
            tensor.data().as_chunks().0.iter().map(|&bytes| i32::from_le_bytes(bytes).into()).collect()
        }
        Dtype::I64 => tensor.data().as_chunks().0.iter().map(|&bytes| i64::from_le_bytes(bytes)).collect(),
        other => {
            return Err(CliError::Input(format!("{name}: {key} is {other:?}, but I32 or I64 is needed")));
        }
    };
    wide.into_iter()
        .map(|value| {
            u32::try_from(value).map_err(|_| {
                CliError::Input(format!("{name}: {key} has the value {value}; use 0 to 2^32 - 1"))
            })
        })
        .collect()
}

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
