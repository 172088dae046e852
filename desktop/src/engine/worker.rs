//! The engine's thread, which owns the model and executes commands.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use wordloom::decode::Fate;
use wordloom::trace::{HeadName, Trace, TraceOptions, TracedSearch};
use wordloom::transformer::{GenerateError, GenerateOptions, Keep};
use wordloom::translate::Sentence;
use wordloom::{Device, Model, TranslateError, Translator};

use super::commands::{Command, Exploration, Pending, Request};
use super::{Explored, News, Opened, Translated};

pub struct Worker {
    pub device: Device,
    pub opened: Option<Loaded>,
    pub tell: Box<dyn Fn(News)>,
}

/// A model on its device.
pub struct Loaded {
    /// The model's files: muting a head reads its weights again.
    model: Model,
    translator: Translator,
    name: String,
}

/// The shortest time between two partial translations.
const BETWEEN_PARTS: Duration = Duration::from_millis(40);

impl Worker {
    pub fn run(mut self, commands: &Receiver<Command>) {
        while let Ok(first) = commands.recv() {
            let pending = Pending::from(first, commands);
            let (translate, explore) = (pending.translate.as_ref(), pending.explore.as_ref());
            let (number, explored) = (translate.map(|one| one.number), explore.map(|one| one.number));
            if catch_unwind(AssertUnwindSafe(|| self.execute(pending))).is_err() {
                let error =
                    "this should not have happened, and is a fault of the program; the terminal says where";
                (self.tell)(match (number, explored) {
                    (None, Some(number)) => News::Explored { number, answer: Err(error.into()) },
                    _ => News::Failed { number: number.unwrap_or_default(), error: error.into() },
                });
            }
        }
        if let Some(gpu) = self.device.gpu() {
            gpu.store_pipelines(); // the device may never be dropped
        }
    }

    fn execute(&mut self, pending: Pending) {
        if let Some(folder) = pending.open {
            self.open(folder.as_deref());
        }
        if let Some(heads) = pending.mute {
            self.mute(&heads);
        }
        if let Some(request) = pending.translate {
            self.translate(&request);
        }
        if let Some(exploration) = pending.explore {
            self.explore(&exploration);
        }
    }

    fn open(&mut self, folder: Option<&Path>) {
        (self.tell)(News::Loading(0.0));
        match self.load(folder) {
            Ok((loaded, opened)) => {
                self.opened = Some(loaded);
                (self.tell)(News::Ready(opened));
            }
            Err(error) => (self.tell)(News::CannotOpen(error)),
        }
    }

    fn load(&self, folder: Option<&Path>) -> Result<(Loaded, Opened), String> {
        let model = match folder {
            Some(folder) => Model::load(folder),
            #[cfg(feature = "embedded-model")]
            None => Model::embedded(),
            #[cfg(not(feature = "embedded-model"))]
            None => return Err("no model is built in; open the folder of one".into()),
        };
        let model = model.map_err(|error| error.to_string())?;
        let mut progress = |fraction| (self.tell)(News::Loading(fraction));
        let translator = Translator::with_progress(&self.device, &model, &mut progress);
        // while the user types, the first sentences repeat
        let translator = translator.map_err(|error| error.to_string())?.with_cache(4 << 20);
        let name = match folder {
            Some(folder) => folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned(),
            None => "English–German, built in".to_owned(),
        };
        let languages = translator.tokenizer().languages().into_iter().map(str::to_owned).collect();
        let opened = Opened { folder: folder.map(Path::to_owned), name: name.clone(), languages };
        Ok((Loaded { model, translator, name }, opened))
    }

    fn mute(&mut self, heads: &[HeadName]) {
        let Some(Loaded { model, translator, .. }) = &mut self.opened else { return };
        let error = translator.mute(model, heads).err().map(|error| error.to_string());
        (self.tell)(News::Muted { heads: translator.transformer().muted().to_vec(), error });
    }

    fn translate(&self, request: &Request) {
        let Some(Loaded { translator, name, .. }) = &self.opened else { return };
        let Request { number, text, options } = request;
        let number = *number;
        let mut shown = Instant::now();
        let kept = TraceOptions { model: name.clone(), scores: false, ..TraceOptions::default() };
        let options = options.clone().keep_attention(kept.keep_attention());
        let translated = pollster::block_on(async {
            let mut stream = translator.stream(text, &options)?;
            while let Some(update) = stream.next().await? {
                if let Some(translation) = update.translations.into_iter().next() {
                    return Ok(Some(translation));
                }
                if shown.elapsed() >= BETWEEN_PARTS {
                    shown = Instant::now();
                    let (settled, open) = stream.text();
                    (self.tell)(News::Partial { number, settled, open });
                }
            }
            Ok(None)
        });
        let translation = match translated {
            Ok(Some(translation)) => translation,
            Ok(None) | Err(TranslateError::Generate(GenerateError::Cancelled)) => return,
            Err(error) => return (self.tell)(News::Failed { number, error: error.to_string() }),
        };
        let cut_short =
            |sentence: &Sentence| sentence.hypotheses.first().is_some_and(|best| best.reached_max_length);
        let translated = Translated {
            hypotheses: translation.hypotheses.iter().map(|one| (one.text.clone(), one.score)).collect(),
            cut_short: translation.sentences.iter().any(cut_short),
        };
        (self.tell)(News::Translated { number, translation: translated });
        let trace = Trace::of_search(translator, text, &translation, &options, &kept);
        let attention: Vec<_> =
            translation.sentences.into_iter().filter_map(|sentence| sentence.attention).collect();
        let read = |trace: Trace| {
            pollster::block_on(trace.with_weights(&attention)).map_err(|error| error.to_string())
        };
        let trace = trace.map_err(|error| error.to_string()).and_then(read);
        match trace {
            Ok(trace) => (self.tell)(News::Traced { number, trace: Arc::new(trace) }),
            Err(_) if options.cancel.is_cancelled() => {}
            Err(error) => (self.tell)(News::Failed { number, error: format!("no attention: {error}") }),
        }
    }

    fn explore(&self, exploration: &Exploration) {
        let Some(Loaded { translator, .. }) = &self.opened else { return };
        let answer = match explored(translator, exploration) {
            Ok(explored) => Ok(Box::new(explored)),
            Err(TranslateError::Generate(GenerateError::Cancelled)) => return,
            Err(error) => Err(error.to_string()),
        };
        (self.tell)(News::Explored { number: exploration.number, answer });
    }
}

/// A search, with its texts and end tokens.
fn explored(translator: &Translator, exploration: &Exploration) -> Result<Explored, TranslateError> {
    let Exploration { source_ids, prefix, options, .. } = exploration;
    let request = translator.request(source_ids, prefix, options)?;
    let keep = Keep { tree: true, ..Keep::default() };
    let search = GenerateOptions::default().keep(keep).cancel(&options.cancel);
    let found = pollster::block_on(translator.transformer().generate(&[request], search))?;
    let tree = found.into_iter().next().and_then(|found| found.tree).unwrap_or_default();
    let tokenizer = translator.tokenizer();
    let finished = (0..tree.nodes.len()).filter(|&node| tree.nodes[node].fate == Fate::Finished);
    let texts: BTreeMap<usize, String> = finished
        .map(|node| Ok((node, tokenizer.decode(&[&prefix[..], &tree.tokens(node)].concat(), true)?)))
        .collect::<Result<_, TranslateError>>()?;
    let named = |token: u32| {
        let piece = tokenizer.target_token(token);
        (token, piece.map_or_else(|| format!("#{token}"), |piece| piece.into_owned()))
    };
    let pieces = tree.nodes.iter().map(|node| node.token).chain(prefix.iter().copied()).map(named).collect();
    let transformer = translator.transformer();
    let of_files = transformer.generation_config().eos_token_id.as_ref();
    let asked = options.generation.eos_token_id.as_ref().or(of_files);
    let ends: BTreeSet<u32> = match asked {
        Some(ids) => ids.as_slice().iter().copied().collect(),
        None => transformer.config().tokens.eos.into_iter().collect(),
    };
    Ok(Explored { search: TracedSearch { tree, pieces }, prefix: prefix.clone(), texts, ends })
}
