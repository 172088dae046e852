//! `wordloom average`

use std::path::PathBuf;

use wordloom::WeightPrecision;
use wordloom::model::files::ModelFiles;
use wordloom::train::average::average_folders;
use wordloom::train::write::write_files;

use super::{CliError, notice, setup};

#[derive(clap::Args)]
#[command(after_help = "\
The mean of the last checkpoints often translates better than the last one.
Sums are in 64 bits. All files but the weights are those of the first folder.

Example:
  wordloom average my-model/checkpoints/* --out averaged")]
pub struct Arguments {
    /// Folders of one model, such as checkpoints of a training
    #[arg(value_name = "CKPT", required = true)]
    checkpoints: Vec<PathBuf>,
    /// Folder to write to, without a model in it
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// Write the weights as f32 or f16
    #[arg(long, value_name = "TYPE", default_value = "f32", value_parser = precision)]
    weights: WeightPrecision,
}

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let out = &arguments.out;
    setup::without_a_model(out)?;
    let folders = arguments.checkpoints.iter().map(|model| setup::folder_of(model));
    let folders = folders.collect::<Result<Vec<_>, _>>()?;
    let folders = folders.iter().map(ModelFiles::directory).collect::<Result<Vec<_>, _>>()?;
    let files = average_folders(&folders, arguments.weights)?;
    write_files(out, files.iter().map(|(name, content)| (name.as_str(), &content[..])))?;
    let of = match folders.len() {
        1 => "one folder".to_owned(),
        count => format!("{count} folders"),
    };
    notice(&format!("{}: the mean of {of}, in {}", out.display(), arguments.weights));
    Ok(())
}

fn precision(text: &str) -> Result<WeightPrecision, &'static str> {
    match text {
        "f32" => Ok(WeightPrecision::F32),
        "f16" => Ok(WeightPrecision::F16),
        _ => Err("f32 or f16 is needed"),
    }
}
