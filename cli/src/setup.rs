//! Options of model and device for several commands.

use std::path::{Path, PathBuf};
use std::sync::Once;

use wordloom::decode::{DecodeError, DecodeOptions};
use wordloom::model::files::{ModelFiles, has_a_model};
use wordloom::model::generation_config::GenerationConfig;
use wordloom::model::{SelfAttentionChoice, SwitchError, Switches};
use wordloom::precision::{InputRounding, PrecisionChoice};
use wordloom::{Device, DeviceChoice, Model, Transformer, WeightPrecision, resolve};
use wordloom_hub::Place;

use super::digest::Digest;
use super::progress::Progress;
use super::{CliError, models, notice, output};

#[derive(clap::Args)]
pub struct ModelArguments {
    /// Folder or OWNER/NAME [default: the built-in one]
    #[arg(long, value_name = "MODEL")]
    pub model: Option<PathBuf>,
}

impl ModelArguments {
    pub fn open(&self) -> Result<Model, CliError> {
        Ok(Model::from_files(model_files(self.model.as_deref())?)?)
    }

    /// Where the model is.
    pub fn place(&self) -> Result<Place, CliError> {
        place(self.model.as_deref())
    }

    /// What tells the model from others, for a run that goes on.
    pub fn identity(&self) -> Result<String, CliError> {
        match self.place()? {
            Place::Folder(folder) => {
                let digest =
                    Digest::of_model(&folder).map_err(|error| output::cannot_read(&folder, error))?;
                Ok(digest.summary().hash)
            }
            place => Ok(format!("{place} of version {}", env!("CARGO_PKG_VERSION"))),
        }
    }
}

/// The model of a command that is about a model alone: an argument without an option. `--model`, as in other commands, is taken, too.
#[derive(clap::Args)]
pub struct ModelArgument {
    /// Folder or OWNER/NAME [default: the built-in one]
    #[arg(value_name = "MODEL")]
    model: Option<PathBuf>,
    #[arg(long = "model", value_name = "MODEL", conflicts_with = "model", hide = true)]
    named: Option<PathBuf>,
}

impl ModelArgument {
    pub fn files(&self) -> Result<ModelFiles, CliError> {
        model_files(self.model.as_deref().or(self.named.as_deref()))
    }
}

/// The place of a folder, or of a model's name, which is fetched first if it is not here; of the default model if `None`.
pub fn place(model: Option<&Path>) -> Result<Place, CliError> {
    let Some(model) = model else { return Ok(Place::default()) };
    match model.to_str().filter(|_| !model.exists()).and_then(Place::built_in) {
        Some(place) => Ok(place),
        None => Ok(Place::Folder(models::folder(model)?)),
    }
}

/// The folder of a model, for commands that read its files from the disk.
pub fn folder_of(model: &Path) -> Result<PathBuf, CliError> {
    match place(Some(model))? {
        Place::Folder(folder) => Ok(folder),
        place => Err(CliError::Usage(format!(
            "{place} is part of the program, and this command needs a folder or a model of the hub"
        ))),
    }
}

/// The files of a folder or of a name; of the default model if `None`.
pub fn model_files(model: Option<&Path>) -> Result<ModelFiles, CliError> {
    Ok(place(model)?.files()?)
}

#[derive(Clone, clap::Args)]
pub struct DeviceArguments {
    /// auto, gpu, cpu, or a GPU's name
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: DeviceChoice,
    /// As auto, f32, f16, q8 or w8a8
    #[arg(long, value_name = "TYPE", default_value = "auto")]
    pub weights: PrecisionChoice,
}

impl DeviceArguments {
    /// Opens the device, and reports it on stderr with the reason for the choice.
    pub fn open(&self) -> Result<Device, CliError> {
        open_device(&self.device)
    }

    /// Whether a device is named, or a kind of device.
    pub fn device_is_named(&self) -> bool {
        self.device != DeviceChoice::Auto
    }

    /// How the device rounds weights and inputs, if that changes numbers by more than their last bits.
    pub fn rounding(&self, device: &Device, model: &Model) -> Option<String> {
        let stored = model.stored_precision();
        match (Transformer::precision_on(device, model, self.weights), device) {
            (WeightPrecision::F32, _) => None,
            (WeightPrecision::Q8, Device::Cpu) => {
                let bits = match self.weights.input_rounding() {
                    InputRounding::SixteenBits => "",
                    InputRounding::EightBits => " to 8 bits",
                };
                Some(format!("q8 on the CPU, which rounds inputs too{bits}"))
            }
            (precision, _) if precision == stored => None,
            (precision, _) => Some(precision.to_string()),
        }
    }

    pub fn transformer(&self, model: &Model) -> Result<Transformer, CliError> {
        load(&self.open()?, model, self.weights, None)
    }

    /// As [`Self::transformer`], for a model that will generate with these options.
    pub fn generator(&self, model: &Model, options: &GenerationConfig) -> Result<Transformer, CliError> {
        load(&self.open()?, model, self.weights, Some(options))
    }
}

/// Parts of the model that are off or changed.
#[derive(clap::Args)]
pub struct SwitchArguments {
    // hidden: the help of every command has to fit a screen
    /// Parts off or changed: encoder.2.residual=off,norm=off; in docs/switches.md
    #[arg(long, value_name = "PART=VALUE,…", hide = true)]
    pub switch: Option<Switches>,
}

impl SwitchArguments {
    /// Sets the switches of a loaded model.
    pub fn apply(&self, transformer: &mut Transformer, model: &Model) -> Result<(), CliError> {
        let Some(switches) = &self.switch else { return Ok(()) };
        transformer.set_switches(model, switches).map_err(|error| match error {
            SwitchError::Model(error) => error.into(),
            error => CliError::Usage(format!("--switch: {error}")),
        })
    }
}

/// Opens a device, and reports it on stderr with the reason for the choice.
pub fn open_device(choice: &DeviceChoice) -> Result<Device, CliError> {
    let device = pollster::block_on(Device::open(choice))?;
    notice(&device.notice(choice));
    if let Some(gpu) = device.gpu() {
        gpu.listen(|news| notice(&news.to_string()));
        #[cfg(debug_assertions)]
        lose_for_tests(gpu);
    }
    start_threads();
    Ok(device)
}

/// Lets tests of the command lose the device; release builds lack it.
#[cfg(debug_assertions)]
fn lose_for_tests(gpu: &wordloom::device::Gpu) {
    let asked = std::env::var("WORDLOOM_TEST_LOSE_AFTER").unwrap_or_default();
    let submits: Vec<u64> = asked.split(',').filter_map(|submits| submits.parse().ok()).collect();
    if !submits.is_empty() {
        gpu.lose_after(&submits);
    }
}

/// Starts the threads that share the CPU's work, or says that there are none: rayon would panic at its first use.
fn start_threads() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        // rayon's own pool can be tried once only
        let Err(error) = rayon::ThreadPoolBuilder::new().build() else { return };
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
        if alone.build_global().is_ok() {
            notice(&format!("warning: {error}; the work is done by one thread, which takes longer"));
        }
    });
}

/// Other kinds of self-attention.
#[derive(clap::Args)]
pub struct AttentionArguments {
    // hidden: the help of every command has to fit a screen
    /// Other kinds of self-attention in encoder layers: encoder.2=window:8,encoder.*=uniform; in docs/attention.md
    #[arg(long, value_name = "LAYER=KIND,…", hide = true)]
    pub attention: Option<SelfAttentionChoice>,
}

impl AttentionArguments {
    /// Gives a model's layers their kinds, and says on stderr which of them the model was not made for.
    pub fn apply(&self, transformer: &mut Transformer) -> Result<(), CliError> {
        let Some(choice) = &self.attention else { return Ok(()) };
        transformer
            .set_attention(choice)
            .map_err(|error| CliError::Usage(format!("--attention: {error}")))?;
        let notes = transformer.config().approximations();
        notes.into_iter().for_each(|note| notice(&format!("note: {note}")));
        Ok(())
    }
}

/// Options of a model that runs, none of which a saved trace takes.
pub const OF_A_RUN: [&str; 9] =
    ["model", "switch", "from", "to", "source_lang", "target_lang", "task", "beams", "weights"];

/// The languages and the beams of a translation.
#[derive(clap::Args)]
pub struct SearchArguments {
    /// Language of the text, such as en [default: auto]
    #[arg(long, value_name = "LANG")]
    pub from: Option<String>,
    /// Language to translate to; chooses a model
    #[arg(long, value_name = "LANG")]
    pub to: Option<String>,
    // hidden: the help of every command has to fit a screen
    /// As --from, in the codes of --model
    #[arg(long, value_name = "CODE", conflicts_with_all = ["from", "to"], hide = true)]
    pub source_lang: Option<String>,
    /// As --to, in the codes of --model
    #[arg(long, value_name = "CODE", conflicts_with_all = ["from", "to"], hide = true)]
    pub target_lang: Option<String>,
    /// Task of the model, such as translation_en_to_de
    #[arg(long, value_name = "NAME")]
    pub task: Option<String>,
    /// Beams of the search, 1 to 16; 1 is greedy
    #[arg(short, long, value_name = "N", value_parser = count)]
    pub beams: Option<usize>,
}

/// Loads a model on an open device. Prepares generating with `options`, if any.
pub fn load(
    device: &Device,
    model: &Model,
    weights: PrecisionChoice,
    options: Option<&GenerationConfig>,
) -> Result<Transformer, CliError> {
    if weights == PrecisionChoice::Is(WeightPrecision::F16) && model.stored_precision() == WeightPrecision::Q8
    {
        notice("warning: f16 rounds the model's 8-bit weights; q8 and f32 keep them");
    }
    let progress = Progress::of_fraction("loading");
    let mut told = |fraction| progress.set_fraction(fraction);
    Ok(match options {
        Some(options) => Transformer::load_to_generate(device, model, weights, options, &mut told)?,
        None => Transformer::load_with_weights(device, model, weights, &mut told)?,
    })
}

/// Refuses a folder to write a model to that has one: none of its files may be lost or left beside the new ones.
pub fn without_a_model(folder: &Path) -> Result<(), CliError> {
    match has_a_model(folder) {
        true => {
            let problem = "there is a model already; choose another folder";
            Err(CliError::Input(format!("{}: {problem}", folder.display())))
        }
        false => Ok(()),
    }
}

/// The options of a search over the model's own, checked.
///
/// * `flags`: name of the option, the command's option, whether the command has it
pub fn search_options(
    flags: &[(&str, &str, bool)],
    model: &Model,
    options: &GenerationConfig,
) -> Result<DecodeOptions, CliError> {
    let config = model.config();
    let resolved = resolve(options, model.generation_config(), config, &[0]).and_then(|options| {
        options.validate(config.target_vocabulary, config.positions.count())?;
        Ok(options)
    });
    resolved.map_err(|error| refused_option(flags, model, &error))
}

/// The error of a search option in the command's words if the command set it; else in the model's.
///
/// * `flags`: name of the option, the command's option, whether the command has it
fn refused_option(flags: &[(&str, &str, bool)], model: &Model, error: &DecodeError) -> CliError {
    let DecodeError::Option { option, value, allowed } = error else {
        return CliError::Input(format!("{}: {error}", model.label()));
    };
    match flags.iter().find(|(name, ..)| name == option) {
        Some((_, flag, true)) => {
            let allowed = allowed.replace("num_beams", "--beams");
            CliError::Usage(format!("{flag} is {value}; it must be {allowed}"))
        }
        Some((_, flag, false)) => {
            CliError::Input(format!("{}: {error}; {flag} sets another value", model.label()))
        }
        None => CliError::Input(format!("{}: {error}", model.label())),
    }
}

pub fn number(text: &str) -> Result<f32, &'static str> {
    text.parse().map_err(|_| "a number is needed")
}

/// A number of 64 bits: a seed, or a number of steps.
pub fn whole(text: &str) -> Result<u64, &'static str> {
    text.parse().map_err(|_| "a whole number from 0 to 2^64 - 1 is needed")
}

pub fn count(text: &str) -> Result<usize, &'static str> {
    text.parse().map_err(|_| "a whole number from 0 is needed")
}
