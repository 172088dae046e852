//! What several commands share: which model, on which device.

use std::path::{Path, PathBuf};

use wordloom::model::files::ModelFiles;
use wordloom::{Device, DeviceChoice, Model, Transformer};

use super::progress::Progress;
use super::{CliError, notice};

#[derive(clap::Args)]
pub struct ModelArguments {
    /// Hugging Face folder [default: the built-in one]
    #[arg(long, value_name = "DIR")]
    pub model: Option<PathBuf>,
}

impl ModelArguments {
    pub fn open(&self) -> Result<Model, CliError> {
        Ok(Model::from_files(model_files(self.model.as_deref())?)?)
    }
}

/// The files of a folder, or of the built-in model.
pub fn model_files(folder: Option<&Path>) -> Result<ModelFiles, CliError> {
    match folder {
        Some(folder) => Ok(ModelFiles::directory(folder)?),
        #[cfg(feature = "embedded-model")]
        None => Ok(ModelFiles::embedded()),
        #[cfg(not(feature = "embedded-model"))]
        None => Err(CliError::Usage("no model is built in; choose one with --model".into())),
    }
}

#[derive(clap::Args)]
pub struct DeviceArguments {
    /// auto, gpu, cpu, or a GPU's name
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: DeviceChoice,
}

impl DeviceArguments {
    /// Opens the device and says on stderr which one it is, and why.
    fn open(&self) -> Result<Device, CliError> {
        let device = pollster::block_on(Device::open(&self.device))?;
        notice(&device.notice(&self.device));
        Ok(device)
    }

    /// A model on the device, with progress while its weights go there.
    pub fn transformer(&self, model: &Model) -> Result<Transformer, CliError> {
        let device = self.open()?;
        let progress = Progress::of_fraction("loading");
        Ok(Transformer::load(&device, model, &mut |fraction| progress.set_fraction(fraction))?)
    }
}

/// A whole number that is not negative.
pub fn count(text: &str) -> Result<usize, &'static str> {
    text.parse().map_err(|_| "a whole number is needed")
}
