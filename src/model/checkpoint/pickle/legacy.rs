//! The form before torch 1.6: pickles of a magic number, a version, the system, the state dict and the storages' keys, then for
//! each key the number of elements (`u64`) and the elements, little-endian.

use std::collections::BTreeMap;

use super::invalid;
use super::machine;
use super::state_dict;
use super::stream::Stream;
use super::value::{Object, Pickle, Storage, Value};
use crate::model::checkpoint::tensor::TensorInfo;
use crate::model::error::ModelError;
use crate::model::files::ByteSource;

/// 0x1950a86a20f9469cfc6c, little-endian.
const MAGIC: [u8; 10] = [0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19];
const VERSION: i64 = 1001;

pub fn read(file: &ByteSource, shard: usize) -> Result<Vec<(String, TensorInfo)>, ModelError> {
    let mut end = 0;
    let mut next = || {
        let pickle = machine::run(Stream::new(file, end..file.len()))?;
        end = pickle.end;
        Ok::<_, ModelError>(pickle)
    };
    let magic = next()?;
    if !matches!(magic.root, Value::LongInt(span) if magic.bytes(span) == MAGIC) {
        return Err(invalid(
            file,
            "it is a pickle, but not of torch.save: PyTorch's magic number is missing",
        ));
    }
    let version = next()?.root;
    if version != Value::Int(VERSION) {
        return Err(invalid(file, format!("its version of PyTorch's format is not {VERSION}")));
    }
    next()?; // the system that wrote it; elements are little-endian on every one
    let [state, keys] = [next()?, next()?];
    let storages = storages(file, &state)?;
    let places = places(file, &keys, &storages, end)?;
    state_dict::tensors(file, shard, &state, |storage| match places.get(state.bytes(storage.key)) {
        Some(&place) => Ok(place),
        None => Err(invalid(file, "a storage of its tensors is not in the file")),
    })
}

/// The storages by key.
fn storages<'p>(
    file: &ByteSource,
    pickle: &'p Pickle,
) -> Result<BTreeMap<&'p [u8], &'p Storage>, ModelError> {
    let mut storages = BTreeMap::new();
    for object in &pickle.objects {
        let Object::Storage(storage) = object else { continue };
        let known = *storages.entry(pickle.bytes(storage.key)).or_insert(storage);
        if byte_len(known) != byte_len(storage) || known.dtype.bitsize() != storage.dtype.bitsize() {
            return Err(invalid(file, "it gives one storage two lengths"));
        }
    }
    Ok(storages)
}

/// First bytes of the storages, from the first one's count at `start` on. The storages have to fill the file.
fn places(
    file: &ByteSource,
    keys: &Pickle,
    storages: &BTreeMap<&[u8], &Storage>,
    start: u64,
) -> Result<BTreeMap<Vec<u8>, u64>, ModelError> {
    let Some(Object::List(list)) = keys.object(keys.root) else {
        return Err(invalid(file, "the list of its storages is missing"));
    };
    let (mut places, mut end) = (BTreeMap::new(), start);
    for &key in list {
        let key = match key {
            Value::Text(span) => keys.bytes(span),
            _ => return Err(invalid(file, "the list of its storages is not a list of texts")),
        };
        let Some(storage) = storages.get(key) else {
            return Err(invalid(file, "it has a storage that belongs to no tensor"));
        };
        let place = end.saturating_add(size_of::<u64>() as u64);
        end = byte_len(storage).and_then(|len| place.checked_add(len)).unwrap_or(u64::MAX);
        if end > file.len() {
            let problem = format!("its storages end after byte {}; the file may be incomplete", file.len());
            return Err(invalid(file, problem));
        }
        check_count(file, place, storage)?;
        if places.insert(key.to_owned(), place).is_some() {
            return Err(invalid(file, "it lists a storage twice"));
        }
    }
    match file.len() - end {
        0 => Ok(places),
        rest => Err(invalid(file, format!("{rest} bytes follow its last storage"))),
    }
}

/// Checks the number of elements before a storage. In a download, storages that are still to come are not waited for: that
/// storages fill the file shows the same.
fn check_count(file: &ByteSource, place: u64, storage: &Storage) -> Result<(), ModelError> {
    let mut count = [0; size_of::<u64>()];
    match file.read_at(place - count.len() as u64, &mut count) {
        Err(ModelError::NotArrived { .. }) => Ok(()),
        Err(error) => Err(error),
        Ok(()) if u64::from_le_bytes(count) == storage.count => Ok(()),
        Ok(()) => Err(invalid(
            file,
            format!(
                "the storage at byte {place} has {} elements, but {} belong to it",
                u64::from_le_bytes(count),
                storage.count
            ),
        )),
    }
}

fn byte_len(storage: &Storage) -> Option<u64> {
    storage.count.checked_mul(storage.dtype.bitsize() as u64 / 8)
}
