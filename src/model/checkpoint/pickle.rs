//! PyTorch's files of weights: `torch.save` of a state dict, read without running them.
//!
//! A pickle is a program for a small stack machine, which can name any function of Python and call it. [`machine`] runs the stack
//! machine, knows the few names that a state dict needs ([`globals`]), and calls nothing: a tensor is a note of its storage,
//! sizes and strides. There are two forms of files:
//!
//! | form | file | |
//! |---|---|---|
//! | `zip` | since torch 1.6 | an uncompressed zip archive: `NAME/data.pkl` and one entry `NAME/data/KEY` for each storage |
//! | `legacy` | before, or `_use_new_zipfile_serialization=False` | five pickles, then the storages one after another |
//!
//! The format is described by `torch/serialization.py` of PyTorch.

mod globals;
mod legacy;
mod machine;
mod state_dict;
mod stream;
mod value;
mod zip;

use super::reader::{FileNames, Found};
use super::tensor::TensorInfo;
use crate::model::error::ModelError;
use crate::model::files::{ByteSource, ModelFiles};

pub(super) const NAMES: FileNames =
    FileNames { format: "PyTorch", single: "pytorch_model.bin", index: "pytorch_model.bin.index.json", read };

pub(super) fn open(files: &ModelFiles) -> Result<Option<Found>, ModelError> {
    NAMES.open(files)
}

/// Reads where the tensors of a file are.
fn read(file: &ByteSource, shard: usize) -> Result<Vec<(String, TensorInfo)>, ModelError> {
    match Form::of(file)? {
        Form::Zip => zip::read(file, shard),
        Form::Legacy => legacy::read(file, shard),
        Form::Tar => Err(invalid(
            file,
            "it has the form of PyTorch 0.1.9 or older (tar); write it again: torch.save(torch.load(FILE), FILE)",
        )),
        Form::Other => Err(invalid(
            file,
            "it is not a file of torch.save: it begins neither as a zip archive nor as PyTorch's older form",
        )),
    }
}

/// The form of a file, by its first bytes.
enum Form {
    Zip,
    Legacy,
    Tar,
    Other,
}

impl Form {
    fn of(file: &ByteSource) -> Result<Self, ModelError> {
        /// Offset and text of a tar archive's mark.
        const TAR: (usize, &[u8]) = (257, b"ustar");
        let mut start = vec![0; ((TAR.0 + TAR.1.len()) as u64).min(file.len()) as usize];
        file.read_at(0, &mut start)?;
        Ok(if start.starts_with(b"PK\x03\x04") {
            Self::Zip
        } else if start.get(TAR.0..).is_some_and(|mark| mark == TAR.1) {
            Self::Tar
        } else if start.starts_with(b"\x80") {
            Self::Legacy // `legacy` looks at the magic number
        } else {
            Self::Other
        })
    }
}

fn invalid(file: &ByteSource, problem: impl Into<String>) -> ModelError {
    ModelError::InvalidCheckpoint { file: file.label().to_owned(), problem: problem.into() }
}
