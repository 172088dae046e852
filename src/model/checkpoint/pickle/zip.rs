//! The form since torch 1.6: a zip archive whose entries are stored as they are, `NAME/data.pkl` and `NAME/data/KEY`.
//!
//! The archive is read through its directory, which is at its end. Libraries for archives read streams or files; these bytes come
//! in ranges, and an error of the range has to reach the caller as it is.

mod directory;

use super::invalid;
use super::machine;
use super::state_dict;
use super::stream::Stream;
use crate::model::checkpoint::tensor::TensorInfo;
use crate::model::error::ModelError;
use crate::model::files::ByteSource;
use directory::Directory;

/// The state dict's pickle, behind the archive's own name.
const PICKLE: &str = "data.pkl";

pub fn read(file: &ByteSource, shard: usize) -> Result<Vec<(String, TensorInfo)>, ModelError> {
    let directory = Directory::read(file)?;
    let root = root(file, &directory)?;
    check_byte_order(file, &directory, root)?;
    let place = directory.place(&format!("{root}{PICKLE}"))?;
    let pickle = machine::run(Stream::new(file, place))?;
    state_dict::tensors(file, shard, &pickle, |storage| {
        let key =
            pickle.text(storage.key).ok_or_else(|| invalid(file, "the key of a storage is not a text"))?;
        let place = directory.place(&format!("{root}data/{key}"))?;
        let len = storage.count.checked_mul(storage.dtype.bitsize() as u64 / 8);
        if len != Some(place.end - place.start) {
            return Err(invalid(
                file,
                format!(
                    "the storage {key:?} has {} bytes, which is not the size of {} {}",
                    place.end - place.start,
                    storage.count,
                    storage.dtype
                ),
            ));
        }
        Ok(place.start)
    })
}

/// The folder of all entries, with its slash.
fn root<'d>(file: &ByteSource, directory: &'d Directory<'_>) -> Result<&'d str, ModelError> {
    let mut names = directory.names();
    let root = names.find_map(|name| name.strip_suffix(PICKLE).filter(|root| root.ends_with('/')));
    let Some(root) = root else {
        return Err(invalid(file, "it is a zip archive without a data.pkl, not a file of torch.save"));
    };
    match directory.has(&format!("{root}constants.pkl")) {
        true => Err(invalid(file, "it is a program (TorchScript), not a state dict of tensors")),
        false => Ok(root),
    }
}

fn check_byte_order(file: &ByteSource, directory: &Directory<'_>, root: &str) -> Result<(), ModelError> {
    const LITTLE: &[u8] = b"little";
    let name = format!("{root}byteorder");
    if !directory.has(&name) {
        return Ok(()); // files before torch 2.1 are little-endian
    }
    let place = directory.place(&name)?;
    let mut order = [0; LITTLE.len()];
    let is_little = place.end - place.start == LITTLE.len() as u64 && {
        file.read_at(place.start, &mut order)?;
        order == *LITTLE
    };
    match is_little {
        true => Ok(()),
        false => Err(invalid(
            file,
            "its numbers are big-endian; load it with torch on another machine and save it there",
        )),
    }
}
