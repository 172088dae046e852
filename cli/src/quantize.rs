//! `wordloom quantize`

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use wordloom::Model;
use wordloom::model::QuantizeError;

use super::output::cannot_write;
use super::{CliError, notice, setup};

const WEIGHTS: &str = "model.safetensors";
/// Extensions of files to copy: configurations, tokenizers, the model card.
const COPIED: [&str; 5] = [".json", ".spm", ".model", ".txt", ".md"];

#[derive(clap::Args)]
#[command(after_help = "\
A matrix takes a byte a number and a scale a row. All else stays as it is.
The folder is used like any other: in f32 on the CPU, in q8 on a GPU.

Example:
  wordloom quantize opus-mt-en-de --out opus-mt-en-de-q8")]
pub struct Arguments {
    /// Folder or OWNER/NAME
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Folder to write to, without a model in it
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let folder = setup::folder_of(&arguments.model)?;
    let model = Model::load(&folder)?;
    let out = &arguments.out;
    let path = out.join(WEIGHTS);
    if path.exists() {
        let problem = "there is a model already; choose another folder";
        return Err(CliError::Input(format!("{}: {problem}", out.display())));
    }
    let is_new = !out.exists();
    fs::create_dir_all(out).map_err(|error| cannot_write(out, error))?;
    let file = File::create_new(&path).map_err(|error| cannot_write(&path, error))?;
    let bytes = write(&model, file, &path).inspect_err(|_| {
        _ = fs::remove_file(&path);
        if is_new {
            _ = fs::remove_dir(out);
        }
    })?;
    copy_others(&folder, out)?;
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let (now, before) = (megabytes(bytes), megabytes(model.checkpoint().byte_len()));
    notice(&format!("{}: {now:.1} MB, from {before:.1} MB", path.display()));
    Ok(())
}

/// Writes the weights. Returns their bytes.
fn write(model: &Model, file: File, path: &Path) -> Result<u64, CliError> {
    let mut writer = BufWriter::new(file);
    match model.write_quantized(&mut writer) {
        Err(QuantizeError::Io(error)) => return Err(cannot_write(path, error)),
        Err(QuantizeError::Model(error)) => return Err(error.into()),
        Err(error) => return Err(CliError::Input(error.to_string())),
        Ok(()) => {}
    }
    let length = writer.flush().and_then(|()| writer.get_ref().metadata());
    Ok(length.map_err(|error| cannot_write(path, error))?.len())
}

fn copy_others(from: &Path, to: &Path) -> Result<(), CliError> {
    let failed = |source| CliError::Io { what: format!("cannot copy from {}", from.display()), source };
    for entry in fs::read_dir(from).map_err(failed)? {
        let (name, path) = entry.map(|entry| (entry.file_name(), entry.path())).map_err(failed)?;
        let end = |end: &&str| name.to_string_lossy().ends_with(*end);
        if path.is_file() && COPIED.iter().any(end) && !end(&".index.json") {
            fs::copy(&path, to.join(&name)).map_err(failed)?;
        }
    }
    Ok(())
}
