//! Reading fixtures: from the disk, or in a browser from the server that brought the test.

use std::path::{Path, PathBuf};

use wordloom::Model;

/// A file or folder of this repository.
pub fn repository(name: &str) -> PathBuf {
    // the test runner serves the repository beside the test
    let root = if cfg!(target_arch = "wasm32") { "/" } else { env!("CARGO_MANIFEST_DIR") };
    Path::new(root).join(name)
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
    let files = wordloom::model::files::ModelFiles::memory(folder.display().to_string(), files);
    Model::from_files(files).unwrap_or_else(|error| panic!("{error}"))
}
