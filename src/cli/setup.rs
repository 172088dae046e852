//! What several commands share: which model, on which device.

use std::path::PathBuf;

use wordloom::{Device, DeviceChoice, Model, Transformer, Translator};

use super::CliError;
use super::progress::Progress;

#[derive(clap::Args)]
pub struct ModelArguments {
    /// Hugging Face folder of the model [default: the embedded English–German one]
    #[arg(long, value_name = "DIR")]
    pub model: Option<PathBuf>,
}

impl ModelArguments {
    pub fn open(&self) -> Result<Model, CliError> {
        Ok(match &self.model {
            Some(folder) => Model::load(folder)?,
            None => Model::embedded()?,
        })
    }
}

#[derive(clap::Args)]
pub struct DeviceArguments {
    /// auto (a GPU, else the CPU), gpu (software adapters too), cpu, or part of a GPU's name
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: DeviceChoice,
}

impl DeviceArguments {
    /// Opens the device and says on stderr which one it is, and why.
    pub fn open(&self) -> Result<Device, CliError> {
        let device = pollster::block_on(Device::open(&self.device))?;
        anstream::eprintln!("{}", device.notice(&self.device));
        Ok(device)
    }
}

/// A model on a device, with progress while its weights go there.
pub fn transformer(model: &ModelArguments, device: &DeviceArguments) -> Result<Transformer, CliError> {
    let model = model.open()?;
    let device = device.open()?;
    let progress = Progress::percent("loading");
    Ok(Transformer::load(&device, &model, &mut |fraction| progress.set_fraction(fraction))?)
}

/// The same, with a tokenizer.
pub fn translator(model: &ModelArguments, device: &DeviceArguments) -> Result<Translator, CliError> {
    let model = model.open()?;
    let device = device.open()?;
    let progress = Progress::percent("loading");
    Ok(Translator::with_progress(&device, &model, &mut |fraction| progress.set_fraction(fraction))?)
}
