//! `wordloom inspect --launches`

use wordloom::Model;
use wordloom::kernels::AdapterClass;
use wordloom::precision::PrecisionChoice;
use wordloom::transformer::{LaunchOptions, launches};

use crate::CliError;
use crate::output::Output;

/// How launches are listed.
#[derive(clap::Args)]
#[group(skip)] // `inspect` has `Arguments` of its own
pub struct Arguments {
    /// List a GPU's launches, program by program
    #[arg(long)]
    pub launches: bool,
    /// Of hardware or software adapters
    #[arg(
        long = "class",
        value_name = "CLASS",
        default_value = "hardware",
        hide_possible_values = true,
        requires = "launches"
    )]
    device_class: DeviceClass,
    /// Sentences side by side
    #[arg(long, value_name = "N", default_value_t = 1, requires = "launches")]
    batch: usize,
    /// Beams of each sentence
    #[arg(long, value_name = "N", default_value_t = 1, requires = "launches")]
    beams: usize,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum DeviceClass {
    Hardware,
    Software,
}

const TOKENS: usize = 16;

impl Arguments {
    pub fn list(&self, model: &Model, choice: PrecisionChoice, output: &mut Output) -> Result<(), CliError> {
        let class = match self.device_class {
            DeviceClass::Hardware => AdapterClass::Hardware,
            DeviceClass::Software => AdapterClass::Software,
        };
        let options = LaunchOptions {
            class,
            precision: choice.resolve(model.stored_precision(), !class.is_software()),
            sentences: self.batch,
            beams: self.beams,
            tokens: TOKENS.min(model.config().positions.count()),
        };
        if self.batch == 0 {
            return Err(CliError::Usage("--batch is 0; it has to be at least 1".into()));
        }
        let lists = launches(model, &options).map_err(|error| CliError::Input(error.to_string()))?;
        for list in lists {
            list.to_string().lines().try_for_each(|line| output.line(line))?;
        }
        Ok(())
    }
}
