//! `wordloom quantize`

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use wordloom::Model;
use wordloom::model::QuantizeError;
use wordloom::model::files::is_companion;

use super::output::cannot_write;
use super::{CliError, notice, setup};

const WEIGHTS: &str = "model.safetensors";

#[derive(clap::Args)]
#[command(after_help = "\
A matrix takes a byte a number and a scale a row. All else stays as it is.
The folder is used like any other: in f32 on the CPU, in q8 on a GPU.

Example:
  wordloom quantize opus-mt-en-de --out opus-mt-en-de-q8")]
pub struct Arguments {
    /// Folder or OWNER/NAME
    #[arg(value_name = "MODEL", required_unless_present = "named")]
    model: Option<PathBuf>,
    /// The same, as in other commands
    #[arg(long = "model", value_name = "MODEL", conflicts_with = "model", hide = true)]
    named: Option<PathBuf>,
    /// Folder to write to, without a model in it
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let model = arguments.model.as_ref().or(arguments.named.as_ref());
    let folder = setup::folder_of(model.expect("one of them is required"))?;
    let model = Model::load(&folder)?;
    let out = &arguments.out;
    setup::without_a_model(out)?;
    let is_new = !out.exists();
    fs::create_dir_all(out).map_err(|error| cannot_write(out, error))?;
    let mut written = Vec::new();
    let bytes = write_all(&model, &folder, out, &mut written).inspect_err(|_| {
        for path in &written {
            _ = fs::remove_file(path);
        }
        if is_new {
            _ = fs::remove_dir(out);
        }
    })?;
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let (now, before) = (megabytes(bytes), megabytes(model.checkpoint().byte_len()));
    notice(&format!("{}: {now:.1} MB, from {before:.1} MB", out.join(WEIGHTS).display()));
    Ok(())
}

/// Writes the weights, and copies the other files. Returns the bytes of the weights. `written` gets the paths of new files.
fn write_all(model: &Model, from: &Path, to: &Path, written: &mut Vec<PathBuf>) -> Result<u64, CliError> {
    let path = to.join(WEIGHTS);
    let file = File::create_new(&path).map_err(|error| cannot_write(&path, error))?;
    written.push(path.clone());
    let bytes = write(model, file, &path)?;
    copy_others(from, to, written)?;
    Ok(bytes)
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

fn copy_others(from: &Path, to: &Path, written: &mut Vec<PathBuf>) -> Result<(), CliError> {
    let cannot_read =
        |path: &Path, source| CliError::Io { what: format!("cannot read {}", path.display()), source };
    for entry in fs::read_dir(from).map_err(|source| cannot_read(from, source))? {
        let entry = entry.map_err(|source| cannot_read(from, source))?;
        let (name, path) = (entry.file_name(), entry.path());
        if path.is_file() && is_companion(&name.to_string_lossy()) {
            let content = fs::read(&path).map_err(|source| cannot_read(&path, source))?;
            let copy = to.join(&name);
            let mut file = File::create_new(&copy).map_err(|error| cannot_write(&copy, error))?;
            written.push(copy.clone());
            file.write_all(&content).map_err(|error| cannot_write(&copy, error))?;
        }
    }
    Ok(())
}
