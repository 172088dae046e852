//! Reading fixtures: from the disk, or in a browser from the server that brought the test.

use std::path::{Path, PathBuf};

use safetensors::SafeTensors;
use wordloom::Model;
use wordloom::model::files::ModelFiles;
use wordloom::precision::WeightPrecision;

/// A file or folder of this repository.
pub fn repository(name: &str) -> PathBuf {
    if cfg!(target_arch = "wasm32") {
        return Path::new("/").join(name); // the test runner serves the repository beside the test
    }
    let package = Path::new(env!("CARGO_MANIFEST_DIR")); // the library's, or the program's below it
    let root = package.ancestors().find(|folder| folder.join("Cargo.lock").exists());
    root.expect("a package of the workspace").join(name)
}

/// A file or folder under `tests/data`.
pub fn data(name: &str) -> PathBuf {
    repository("tests/data").join(name)
}

/// The content of a file, which must be there.
#[cfg(not(target_arch = "wasm32"))]
pub fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The content of a file, which must be there.
#[cfg(target_arch = "wasm32")]
pub fn read(path: &Path) -> Vec<u8> {
    fetch(path).unwrap_or_else(|| panic!("{}: not found", path.display()))
}

/// The content of a file, if it is there. A worker may wait for a request.
#[cfg(target_arch = "wasm32")]
fn fetch(path: &Path) -> Option<Vec<u8>> {
    use web_sys::{XmlHttpRequest, XmlHttpRequestResponseType};

    let url = path.to_str().expect("a fixture's name is text");
    let request = XmlHttpRequest::new().expect("a worker may make requests");
    request.open_with_async("GET", url, false).expect("a sound URL");
    request.set_response_type(XmlHttpRequestResponseType::Arraybuffer);
    request.send().unwrap_or_else(|error| panic!("{url}: {error:?}"));
    let found = request.status() == Ok(200);
    found.then(|| js_sys::Uint8Array::new(&request.response().expect("a response")).to_vec())
}

/// The model in a folder of fixtures.
#[cfg(not(target_arch = "wasm32"))]
pub fn model(folder: &Path) -> Model {
    Model::load(folder).unwrap_or_else(|error| panic!("{error}"))
}

/// The model in a folder of fixtures, which have no shards and no tokenizers.
#[cfg(target_arch = "wasm32")]
pub fn model(folder: &Path) -> Model {
    let names = ["config.json", "generation_config.json", "model.safetensors"];
    let files = names.into_iter().filter_map(|name| Some((name, fetch(&folder.join(name))?)));
    let files = ModelFiles::memory(folder.display().to_string(), files);
    Model::from_files(files).unwrap_or_else(|error| panic!("{error}"))
}

/// A fixture with f32 weights whose matrices have been rounded as `precision` rounds them.
pub fn rounded(name: &str, precision: WeightPrecision) -> Model {
    edited(name, |tensor, shape, values| {
        // position tables and biases are no matrices
        if let &[rows, width] = shape
            && rows > 1
            && !tensor.contains("position")
            && !tensor.contains("bias")
        {
            values.chunks_exact_mut(width).for_each(|row| precision.round_row(row));
        }
    })
}

/// A fixture with f32 weights of which some have been changed, by tensor: its name, its shape, its values.
pub fn edited(name: &str, edit: impl Fn(&str, &[usize], &mut [f32])) -> Model {
    let folder = data("models").join(name);
    let mut bytes = read(&folder.join("model.safetensors"));
    let (header, tensors) = SafeTensors::read_metadata(&bytes).expect("a sound fixture");
    for (tensor, info) in tensors.tensors() {
        assert_eq!(info.dtype, safetensors::Dtype::F32, "{name}: {tensor}");
        let (start, end) = info.data_offsets;
        let stored = bytes[8 + header..][start..end].as_chunks_mut().0;
        let mut values: Vec<f32> = stored.iter().map(|&value| f32::from_le_bytes(value)).collect();
        edit(&tensor, &info.shape, &mut values);
        stored.iter_mut().zip(values).for_each(|(stored, value)| *stored = value.to_le_bytes());
    }
    let files = [("config.json", read(&folder.join("config.json"))), ("model.safetensors", bytes)];
    Model::from_files(ModelFiles::memory(name.to_owned(), files)).expect("as sound as before")
}
