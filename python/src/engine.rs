//! A model on a device.

use std::ffi::CString;
use std::path::{Path, PathBuf};

use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use wordloom::model::config::Architecture;
use wordloom::model::files::ModelFiles;
use wordloom::model::generation_config::{GenerationConfig, JsonObject, UnknownKeys};
use wordloom::precision::PrecisionChoice;
use wordloom::transformer::{Cancel as LibraryCancel, GenerateError as LibraryGenerateError};
use wordloom::{Device, DeviceChoice, Model, Transformer, Translator};
use wordloom_hub::{Hub, ModelReference, Place, Progress};

use crate::errors::{OrRaise, TextError, wrong_value};
use crate::run::{Cancel, Done, Watch, run};

/// Bytes for results of repeated sentences, some ten thousands.
const CACHE_BYTES: usize = 64 << 20;

/// A model with its weights on a device, and its tokenizer if it has one.
#[pyclass(frozen, module = "wordloom._native")]
pub struct Engine {
    pub loaded: Loaded,
    pub label: String,
}

/// A model that translates, or another one.
pub enum Loaded {
    Translator(Box<Translator>),
    /// The model, and the reason why it does not translate.
    Other(Box<Transformer>, String),
}

impl Engine {
    pub fn transformer(&self) -> &Transformer {
        match &self.loaded {
            Loaded::Translator(translator) => translator.transformer(),
            Loaded::Other(transformer, _) => transformer,
        }
    }

    /// # Errors
    /// `TextError` if the model does not translate or has no tokenizer.
    pub fn translator(&self) -> PyResult<&Translator> {
        match &self.loaded {
            Loaded::Translator(translator) => Ok(translator),
            Loaded::Other(_, reason) => Err(TextError::new_err(reason.clone())),
        }
    }

    /// # Errors
    /// `GenerateError` if the model is an encoder alone.
    pub fn check_decoder(&self) -> PyResult<()> {
        let config = self.transformer().config();
        match config.architecture() {
            Architecture::EncoderOnly => {
                let model_type = config.family.model_type();
                Err(LibraryGenerateError::NoDecoder { model_type }).or_raise()
            }
            _ => Ok(()),
        }
    }

    /// Reads search options, a JSON object with transformers' names.
    pub fn generation(&self, json: &str) -> PyResult<GenerationConfig> {
        parsed(json)
    }
}

#[pymethods]
impl Engine {
    /// * `model`: a folder or a name; the model in the package if `None`
    #[new]
    #[pyo3(signature = (model, device, weights, progress=None, cancel=None))]
    fn new(
        py: Python<'_>,
        model: Option<PathBuf>,
        device: &str,
        weights: &str,
        progress: Option<Py<PyAny>>,
        cancel: Option<&Cancel>,
    ) -> PyResult<Self> {
        let choice = device_choice(device)?;
        let weights: PrecisionChoice =
            weights.parse().map_err(|problem| wrong_value(format!("weights is {weights:?}; {problem}")))?;
        let watch = Watch::new(cancel, progress);
        run(py, &watch, |progress| {
            let files = files(model.as_deref(), &watch.cancel, &|done| {
                let _ = progress.send(done); // a caller that is gone has cancelled
            })?;
            let model = Model::from_files(files).or_raise()?;
            let device = open_device(&choice)?;
            load(&device, &model, weights)
        })?
    }

    /// The device's name.
    #[getter]
    fn device(&self) -> String {
        self.transformer().device().to_string()
    }

    /// Names of the search's options.
    #[staticmethod]
    fn option_names() -> Vec<&'static str> {
        GenerationConfig::KEYS.to_vec()
    }

    /// Refuses unknown options of a search, and unsupported ones that are not off.
    ///
    /// * `generation`: search options, a JSON object with transformers' names
    #[staticmethod]
    fn check_generation(generation: &str) -> PyResult<()> {
        parsed(generation).map(drop)
    }

    /// How matrices are stored: f32, f16, q8 or w8a8.
    #[getter]
    fn weights(&self) -> String {
        self.transformer().stored_as().to_string()
    }

    /// The model's folder or name.
    #[getter]
    fn label(&self) -> &str {
        &self.label
    }

    /// `model_type` of the configuration.
    #[getter]
    fn model_type(&self) -> &'static str {
        self.transformer().config().family.model_type()
    }

    /// Whether the model is a decoder alone, whose input is the beginning of its output.
    #[getter]
    fn is_decoder(&self) -> bool {
        self.transformer().config().architecture() == Architecture::DecoderOnly
    }

    /// Codes of the languages that the model can be asked for.
    #[getter]
    fn languages(&self) -> Vec<String> {
        let languages = self.translator().map(|translator| translator.tokenizer().languages());
        languages.unwrap_or_default().into_iter().map(str::to_owned).collect()
    }

    /// The padding token's id; as in transformers, the first end token's if there is none.
    #[getter]
    fn pad_token_id(&self) -> u32 {
        let config = self.transformer().generation_config();
        let end = || config.eos_token_id.as_ref().and_then(|ids| ids.as_slice().first().copied());
        config.pad_token_id.or_else(end).unwrap_or(0)
    }

    /// The token that begins every output, unless the options name another.
    #[getter]
    fn start_token_id(&self) -> Option<u32> {
        let (config, tokens) = (self.transformer().generation_config(), &self.transformer().config().tokens);
        let of_file = config.decoder_start_token_id.or(config.bos_token_id);
        of_file.or(tokens.decoder_start).or(tokens.bos)
    }

    /// Pieces of the source's or the target's vocabulary, in the order of their ids.
    fn pieces(&self, target: bool) -> PyResult<Vec<String>> {
        let tokenizer = self.translator()?.tokenizer();
        let config = self.transformer().config();
        let count = if target { config.target_vocabulary } else { config.source_vocabulary } as u32;
        let piece = |id| if target { tokenizer.target_token(id) } else { tokenizer.source_token(id) };
        Ok((0..count).map(|id| piece(id).map(|piece| piece.into_owned()).unwrap_or_default()).collect())
    }
}

fn parsed(json: &str) -> PyResult<GenerationConfig> {
    let json = JsonObject::parse_request("the options", json.as_bytes()).or_raise()?;
    GenerationConfig::from_json(&json, UnknownKeys::Reject).map_err(|error| wrong_value(error.to_string()))
}

/// # Errors
/// `ValueError`
pub fn device_choice(device: &str) -> PyResult<DeviceChoice> {
    device.parse().map_err(|problem: String| wrong_value(format!("device: {problem}")))
}

/// Opens a device whose troubles become warnings.
pub fn open_device(choice: &DeviceChoice) -> PyResult<Device> {
    let device = pollster::block_on(Device::open(choice)).or_raise()?;
    if let Some(gpu) = device.gpu() {
        gpu.listen(|news| warn(&news.to_string()));
    }
    Ok(device)
}

/// A `RuntimeWarning`: work goes on, but on another device or in smaller batches.
fn warn(message: &str) {
    let Ok(message) = CString::new(message) else { return };
    Python::attach(|py| {
        let category = py.get_type::<PyRuntimeWarning>();
        // as an error, if the user wants warnings to be errors: it cannot be raised here
        if let Err(error) = PyErr::warn(py, &category, &message, 1) {
            error.write_unraisable(py, None);
        }
    });
}

fn load(device: &Device, model: &Model, weights: PrecisionChoice) -> PyResult<Engine> {
    let mut ignored = |_| {};
    let loaded = match Translator::tokenizer_of(model) {
        Ok(tokenizer) => {
            let options = GenerationConfig::default();
            let loaded = Transformer::load_to_generate(device, model, weights, &options, &mut ignored);
            let translator = Translator::from_parts(loaded.or_raise()?, tokenizer).with_cache(CACHE_BYTES);
            Loaded::Translator(Box::new(translator))
        }
        Err(reason) => {
            let loaded = Transformer::load_with_weights(device, model, weights, &mut ignored).or_raise()?;
            Loaded::Other(Box::new(loaded), reason.to_string())
        }
    };
    Ok(Engine { loaded, label: model.label().to_owned() })
}

/// The files of a folder or of a name, which is fetched first if it is not in the cache.
pub fn files(model: Option<&Path>, cancel: &LibraryCancel, tell: &dyn Fn(Done)) -> PyResult<ModelFiles> {
    let Some(model) = model else { return Place::default().files().or_raise() };
    // names are text; a path that is none is a folder
    let Some(text) = model.to_str() else { return ModelFiles::directory(model).or_raise() };
    if let Some(place) = Place::built_in(text).filter(|_| !Path::new(text).exists()) {
        return place.files().or_raise();
    }
    let folder = match ModelReference::parse(text).or_raise()? {
        ModelReference::Folder(folder) => folder,
        reference => {
            let mut download = Download { tell, done: 0, total: 0 };
            Hub::from_environment().or_raise()?.get(&reference, &mut download, cancel).or_raise()?
        }
    };
    match ModelFiles::directory(&folder) {
        Ok(files) => Ok(files),
        Err(error) if Path::new(text).exists() => Err(error).or_raise(),
        Err(error) => Err(crate::errors::ModelError::new_err(format!(
            "{error}; a model of the hub is OWNER/NAME or OWNER/NAME@main, as Helsinki-NLP/opus-mt-en-fr"
        ))),
    }
}

/// Tells Python of a download.
struct Download<'a> {
    tell: &'a dyn Fn(Done),
    done: u64,
    total: u64,
}

impl Download<'_> {
    fn tell(&self) {
        (self.tell)((self.done, self.total));
    }
}

impl Progress for Download<'_> {
    fn start(&mut self, _: &str, total: u64, present: u64) {
        (self.done, self.total) = (present, total);
        self.tell();
    }

    fn advance(&mut self, bytes: u64) {
        self.done += bytes;
        self.tell();
    }

    fn retreat(&mut self, bytes: u64) {
        self.done = self.done.saturating_sub(bytes);
        self.tell();
    }
}
