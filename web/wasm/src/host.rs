//! Services of JavaScript for Rust: the bytes of a model's files, a turn of the event loop, reports of progress.
//! `web/ts/wordloom_web.d.ts` declares both sides.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use js_sys::{Array, Promise, Uint8Array};
use send_wrapper::SendWrapper;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use wordloom::model::files::{HostFile, HostFileError, ModelFiles};

use crate::failure::{Failure, message_of};
use crate::fast_tokenizer::JsTokenizer;

#[wasm_bindgen]
extern "C" {
    #[derive(Clone)]
    pub type Host;
    #[wasm_bindgen(method)]
    pub fn pause(this: &Host) -> Promise;
    #[wasm_bindgen(method)]
    pub fn progress(this: &Host, event: JsValue);
    /// The promise of a [`JsTokenizer`].
    #[wasm_bindgen(method, js_name = fastTokenizer)]
    fn fast_tokenizer(this: &Host, folder: &HostFolder) -> Promise;

    #[derive(Clone)]
    pub type HostFolder;
    #[wasm_bindgen(method, getter)]
    fn label(this: &HostFolder) -> String;
    #[wasm_bindgen(method, getter)]
    fn files(this: &HostFolder) -> Array;

    #[derive(Clone)]
    type JsFile;
    #[wasm_bindgen(method, getter)]
    fn name(this: &JsFile) -> String;
    #[wasm_bindgen(method, getter)]
    fn size(this: &JsFile) -> f64;
    #[wasm_bindgen(method, catch)]
    fn read(this: &JsFile, offset: f64, length: f64) -> Result<Uint8Array, JsValue>;
    #[wasm_bindgen(method)]
    fn arrived(this: &JsFile, end: f64) -> Promise;
}

/// A model's files, which JavaScript holds.
pub struct Folder {
    pub files: ModelFiles,
    entries: Vec<Entry>,
    folder: HostFolder,
}

struct Entry {
    name: String,
    size: u64,
    file: JsFile,
    arrived: Rc<Cell<u64>>,
    /// Number of waits for more bytes of the file.
    waits: Cell<u32>,
}

/// After this number of waits, the whole file is awaited: comparing two tensors would wait a thousand times.
const PATIENCE: u32 = 3;

impl Folder {
    pub fn new(folder: &HostFolder) -> Self {
        let entries: Vec<Entry> = folder
            .files()
            .iter()
            .map(|file| {
                let file: JsFile = file.unchecked_into();
                let (name, size) = (file.name(), file.size() as u64);
                Entry { name, size, file, arrived: Rc::default(), waits: Cell::new(0) }
            })
            .collect();
        let files = entries.iter().map(|entry| {
            let bytes = Bytes {
                size: entry.size,
                file: SendWrapper::new((entry.file.clone(), entry.arrived.clone())),
            };
            (entry.name.clone(), Arc::new(bytes) as Arc<dyn HostFile>)
        });
        Self { files: ModelFiles::host(folder.label(), files), entries, folder: folder.clone() }
    }

    /// The tokenizer of the folder that Hugging Face's library reads, in a module that is fetched now.
    pub async fn fast_tokenizer(&self, host: &Host) -> Result<JsTokenizer, Failure> {
        let tokenizer = JsFuture::from(host.fast_tokenizer(&self.folder)).await.map_err(Failure::Js)?;
        Ok(tokenizer.unchecked_into())
    }

    /// Waits until the bytes of a file before `end` have arrived, while a model is being opened.
    pub async fn wait_while_opening(&self, name: &str, end: u64) -> Result<(), Failure> {
        let entry = self.entry(name)?;
        entry.waits.set(entry.waits.get() + 1);
        self.wait(name, if entry.waits.get() > PATIENCE { entry.size } else { end }).await
    }

    /// Waits until the bytes of a file before `end` have arrived.
    pub async fn wait(&self, name: &str, end: u64) -> Result<(), Failure> {
        let entry = self.entry(name)?;
        JsFuture::from(entry.file.arrived(end as f64)).await.map_err(Failure::Js)?;
        entry.arrived.set(entry.arrived.get().max(end));
        Ok(())
    }

    fn entry(&self, name: &str) -> Result<&Entry, Failure> {
        let found = self.entries.iter().find(|entry| entry.name == name);
        found.ok_or_else(|| Failure::input(format!("there is no file {name:?}")))
    }
}

/// One file, as the library reads it.
struct Bytes {
    size: u64,
    file: SendWrapper<(JsFile, Rc<Cell<u64>>)>,
}

impl HostFile for Bytes {
    fn len(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), HostFileError> {
        let (file, arrived) = &*self.file;
        if offset + buffer.len() as u64 > arrived.get() {
            return Err(HostFileError::NotArrived);
        }
        let bytes = file.read(offset as f64, buffer.len() as f64);
        let bytes = bytes.map_err(|error| HostFileError::Failed(message_of(&error)))?;
        if bytes.length() as usize != buffer.len() {
            let reason =
                format!("gave {} bytes instead of {}; has it changed?", bytes.length(), buffer.len());
            return Err(HostFileError::Failed(reason));
        }
        bytes.copy_to(buffer);
        Ok(())
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bytes").field("size", &self.size).finish()
    }
}
