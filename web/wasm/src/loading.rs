//! Loads a model on a device from files that may still be downloading.

use wordloom::model::config::Architecture;
use wordloom::model::generation_config::GenerationConfig;
use wordloom::model::{HeadName, ModelError, SelfAttentionChoice, SelfAttentionError, SwitchError, Switches};
use wordloom::precision::PrecisionChoice;
use wordloom::text::Tokenizer;
use wordloom::transformer::{Loading, MuteError, Transformer};
use wordloom::{Device, DeviceChoice, Model, TextError, Translator};

use crate::failure::Failure;
use crate::fast_tokenizer::TokenizerElsewhere;
use crate::host::{Folder, Host};
use crate::pass_over::PassOver;
use crate::results::js_object;

/// Bytes of weights that are sent to a GPU before a wait.
const SETTLE_BYTES: u64 = 64 << 20;

/// The largest number of progress reports for weights.
const REPORTS: u64 = 50;

/// A model that can translate, or one that takes token ids only.
pub enum Runner {
    Text(Box<Translator>),
    Ids {
        transformer: Box<Transformer>,
        /// Of an encoder or a decoder alone.
        tokenizer: Option<Tokenizer>,
        /// Why it does not translate.
        reason: String,
    },
}

impl Runner {
    pub fn transformer(&self) -> &Transformer {
        match self {
            Self::Text(translator) => translator.transformer(),
            Self::Ids { transformer, .. } => transformer,
        }
    }

    pub fn mute(&mut self, model: &Model, heads: &[HeadName]) -> Result<(), MuteError> {
        match self {
            Self::Text(translator) => translator.mute(model, heads),
            Self::Ids { transformer, .. } => transformer.mute(model, heads),
        }
    }

    pub fn set_switches(&mut self, model: &Model, switches: &Switches) -> Result<(), SwitchError> {
        match self {
            Self::Text(translator) => translator.set_switches(model, switches),
            Self::Ids { transformer, .. } => transformer.set_switches(model, switches),
        }
    }

    pub fn set_attention(&mut self, choice: &SelfAttentionChoice) -> Result<(), SelfAttentionError> {
        match self {
            Self::Text(translator) => translator.set_attention(choice),
            Self::Ids { transformer, .. } => transformer.set_attention(choice),
        }
    }

    pub fn translator(&self) -> Result<&Translator, Failure> {
        match self {
            Self::Text(translator) => Ok(translator),
            Self::Ids { reason, .. } => {
                let instead = "`generate` and `forward` take token ids";
                Err(Failure::unsupported(format!("cannot translate: {reason}; {instead}")))
            }
        }
    }

    pub fn tokenizer(&self) -> Result<&Tokenizer, Failure> {
        match self {
            Self::Text(translator) => Ok(translator.tokenizer()),
            Self::Ids { tokenizer: Some(tokenizer), .. } => Ok(tokenizer),
            Self::Ids { reason, .. } => {
                Err(Failure::unsupported(format!("cannot read text: {reason}; `generate` takes token ids")))
            }
        }
    }
}

/// Opens the device and loads the model. Kernels are compiled while weights are downloaded; the end waits for the rest.
pub async fn load(
    folder: &Folder,
    choice: &DeviceChoice,
    weights: PrecisionChoice,
    pass_over: Option<&PassOver>,
    host: &Host,
) -> Result<Runner, Failure> {
    let device = Device::open(choice).await?;
    if let (Some(gpu), Some(pass_over)) = (device.gpu(), pass_over) {
        pass_over.tell(gpu);
    }
    host.progress(js_object([("stage", "device".into()), ("notice", device.notice(choice).into())]));
    let model = arrived(folder, || Model::from_files(folder.files.clone())).await?;
    // the shortlist of a Firefox model, which is read before its weights
    arrived(folder, || model.shortlist().map(drop)).await?;

    let mut loading = Loading::with_weights(&device, &model, weights)?;
    if device.gpu().is_some() {
        // the kernels of a first search with the model's default options
        loading.warm_up(&GenerationConfig::default())?;
    }
    let total = loading.total_bytes();
    let (mut settled, mut reported) = (0, 0);
    loop {
        match loading.advance(&model) {
            Ok(true) => {}
            Ok(false) => break,
            Err(ModelError::NotArrived { file, end }) => {
                folder.wait(&file, end).await?;
                continue;
            }
            Err(error) => return Err(error.into()),
        }
        if loading.bytes() == total || loading.bytes() - reported >= total / REPORTS {
            reported = loading.bytes();
            host.progress(js_object([
                ("stage", "weights".into()),
                ("loaded", (reported as f64).into()),
                ("total", (total as f64).into()),
            ]));
        }
        if loading.bytes() - settled >= SETTLE_BYTES {
            settled = loading.bytes();
            settle(&device).await?;
        }
    }
    let tokenizer = tokenizer(&model, folder, host).await?;
    loading.check().await?; // late, when its kernels are compiled
    let transformer = loading.finish()?;
    if device.gpu().is_some() {
        let compiled = |done: f64| {
            host.progress(js_object([
                ("stage", "compile".into()),
                ("done", done.into()),
                ("total", 1.0.into()),
            ]));
        };
        compiled(0.0);
        settle(&device).await?; // reports lack of device memory now
        compiled(1.0);
    }
    let runner = runner(&model, transformer, tokenizer)?;
    host.progress(js_object([("stage", "ready".into())]));
    Ok(runner)
}

/// The model's tokenizer, or why there is none. The outer error is one of JavaScript's.
async fn tokenizer(
    model: &Model,
    folder: &Folder,
    host: &Host,
) -> Result<Result<Tokenizer, ModelError>, Failure> {
    let found = arrived(folder, || match model.tokenizer() {
        Err(ModelError::NotArrived { file, end }) => Err(ModelError::NotArrived { file, end }),
        result => Ok(result),
    })
    .await?;
    let Err(ModelError::Tokenizer { source: TextError::NeedsFeature, .. }) = found else { return Ok(found) };
    let elsewhere = folder.fast_tokenizer(host).await?;
    Ok(model.tokenizer_with(&mut || Ok(Box::new(TokenizerElsewhere::new(&elsewhere)))))
}

/// A loaded model with its tokenizer, if it has one.
fn runner(
    model: &Model,
    transformer: Transformer,
    tokenizer: Result<Tokenizer, ModelError>,
) -> Result<Runner, ModelError> {
    let transformer = Box::new(transformer);
    let config = model.config();
    if config.architecture() != Architecture::EncoderDecoder {
        let (folder, model_type) = (model.label().to_owned(), config.family.model_type());
        let reason = ModelError::CannotTranslate { folder, model_type }.to_string();
        return Ok(Runner::Ids { transformer, tokenizer: tokenizer.ok(), reason });
    }
    match tokenizer {
        Ok(tokenizer) => Ok(Runner::Text(Box::new(Translator::from_parts(*transformer, tokenizer)))),
        Err(error @ ModelError::NoTokenizer { .. }) => {
            Ok(Runner::Ids { transformer, tokenizer: None, reason: error.to_string() })
        }
        Err(error) => Err(error),
    }
}

/// Opens the files of a loaded model again.
pub async fn open_again(folder: &Folder) -> Result<Model, Failure> {
    arrived(folder, || Model::from_files(folder.files.clone())).await
}

/// Waits until a device has finished all submitted work.
pub async fn settle(device: &Device) -> Result<(), Failure> {
    match device.gpu() {
        Some(gpu) => Ok(gpu.settled().await?),
        None => Ok(()),
    }
}

/// Repeats `open` until all bytes that it reads have arrived.
async fn arrived<T>(folder: &Folder, open: impl Fn() -> Result<T, ModelError>) -> Result<T, Failure> {
    loop {
        match open() {
            Err(ModelError::NotArrived { file, end }) => folder.wait_while_opening(&file, end).await?,
            result => return Ok(result?),
        }
    }
}
