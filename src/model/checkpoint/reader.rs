//! What a reader of a format yields, and the way from a folder's file names to it.

use std::collections::BTreeMap;

use super::tensor::TensorInfo;
use crate::model::error::ModelError;
use crate::model::files::{ByteSource, ModelFiles, stays_inside};
use crate::model::json::JsonObject;
use crate::sorting;

/// Looks for files of one format in a folder, and reads where their tensors are; `None` if there are no such files.
pub(super) type Reader = fn(&ModelFiles) -> Result<Option<Found>, ModelError>;

/// The tensors of a folder's weights, and the files with their bytes.
pub(super) struct Found {
    /// Name in messages: the file, or the index of the shards.
    pub label: String,
    /// Name of the format, for people.
    pub format: &'static str,
    /// The files that [`TensorInfo`] points into.
    pub files: Vec<ByteSource>,
    pub tensors: BTreeMap<String, TensorInfo>,
}

/// Reads the tensors of a file, with the number of the file for [`TensorInfo`].
pub(super) type ReadFile = fn(&ByteSource, usize) -> Result<Vec<(String, TensorInfo)>, ModelError>;

/// Hugging Face's way to name files of weights: one file, or shards with an index.
pub(super) struct FileNames {
    pub format: &'static str,
    pub single: &'static str,
    pub index: &'static str,
    pub read: ReadFile,
}

impl FileNames {
    /// Opens the single file, else the shards; `None` if the folder has neither.
    pub fn open(&self, files: &ModelFiles) -> Result<Option<Found>, ModelError> {
        if files.has(self.single) {
            self.open_file(files, self.single).map(Some)
        } else if files.has(self.index) {
            self.open_shards(files).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Opens one file of any name.
    pub fn open_file(&self, files: &ModelFiles, name: &str) -> Result<Found, ModelError> {
        let file = open(files, name)?;
        let tensors = sorting::map_of((self.read)(&file, 0)?);
        Ok(Found { label: file.label().to_owned(), format: self.format, files: vec![file], tensors })
    }

    /// Opens shards. A tensor that only the index or only a shard has, or that two shards have, shows mixed downloads.
    fn open_shards(&self, files: &ModelFiles) -> Result<Found, ModelError> {
        let index = JsonObject::read(files, self.index)?;
        let weight_map: BTreeMap<String, String> = index.require("weight_map")?;
        let label = index.file().to_owned();
        let invalid = |problem| ModelError::InvalidCheckpoint { file: label.clone(), problem };

        let mut names: Vec<&String> = weight_map.values().collect();
        sorting::sort(&mut names);
        names.dedup();
        if let Some(shard) = names.iter().find(|name| stays_inside(name) && !files.has(name)) {
            let missing = names.iter().filter(|name| !files.has(name)).count();
            let (index, shard) = (label, (*shard).clone());
            return Err(ModelError::MissingShard { index, shard, missing, shards: names.len() });
        }
        let (mut shards, mut tensors) = (Vec::new(), BTreeMap::new());
        for name in names {
            let file = open(files, name)?;
            for (tensor, info) in (self.read)(&file, shards.len())? {
                match weight_map.get(&tensor) {
                    Some(place) if place == name => tensors.insert(tensor, info),
                    Some(place) => {
                        return Err(invalid(format!(
                            "the tensor {tensor:?} is in {name:?}, but belongs in {place:?}"
                        )));
                    }
                    None => {
                        return Err(invalid(format!("the tensor {tensor:?} of {name:?} is not listed")));
                    }
                };
            }
            shards.push(file);
        }
        match weight_map.iter().find(|(tensor, _)| !tensors.contains_key(*tensor)) {
            Some((tensor, place)) => Err(invalid(format!("the tensor {tensor:?} is not in {place:?}"))),
            None => Ok(Found { label, format: self.format, files: shards, tensors }),
        }
    }
}

/// Opens a file of weights, unless it only stands for one in a clone without Git LFS.
fn open(files: &ModelFiles, name: &str) -> Result<ByteSource, ModelError> {
    /// First bytes and maximum length of such a file.
    const POINTER: (&[u8], u64) = (b"version https://git-lfs", 1024);
    let file = files.open(name)?;
    let mut start = [0; POINTER.0.len()];
    if (start.len() as u64..=POINTER.1).contains(&file.len()) {
        file.read_at(0, &mut start)?;
        if start == *POINTER.0 {
            let problem = "it is not the file itself, but stands for it in a clone without Git LFS: \
                           run \"git lfs pull\" in the folder"
                .to_owned();
            return Err(ModelError::InvalidCheckpoint { file: file.label().to_owned(), problem });
        }
    }
    Ok(file)
}
