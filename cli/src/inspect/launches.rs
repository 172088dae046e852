//! `wordloom inspect --launches`

use wordloom::Model;
use wordloom::decode::MAX_BEAMS;
use wordloom::kernels::AdapterClass;
use wordloom::precision::PrecisionChoice;
use wordloom::transformer::{LaunchOptions, launches};

use crate::CliError;
use crate::output::Output;
use crate::setup::count;

/// How launches are listed.
#[derive(clap::Args)]
#[group(skip)] // `inspect` has `Arguments` of its own
pub struct Arguments {
    /// List a GPU's launches, program by program
    #[arg(long, conflicts_with_all = ["json", "run", "device"])]
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
    #[arg(long, value_name = "N", value_parser = count, default_value = "1", requires = "launches")]
    batch: usize,
    /// Beams of each sentence
    #[arg(long, value_name = "N", value_parser = count, default_value = "1", requires = "launches")]
    beams: usize,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum DeviceClass {
    Hardware,
    Software,
}

const TOKENS: usize = 16;
/// Most sentences side by side: numbers of elements stay in range.
const MOST: usize = 1 << 20;

impl Arguments {
    pub fn list(&self, model: &Model, choice: PrecisionChoice, output: &mut Output) -> Result<(), CliError> {
        for (option, value, most) in [("--batch", self.batch, MOST), ("--beams", self.beams, MAX_BEAMS)] {
            if !(1..=most).contains(&value) {
                return Err(CliError::Usage(format!("{option} is {value}; it must be 1 to {most}")));
            }
        }
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
        let lists = launches(model, &options).map_err(|error| CliError::Input(error.to_string()))?;
        for list in lists {
            list.to_string().lines().try_for_each(|line| output.line(line))?;
        }
        Ok(())
    }
}
