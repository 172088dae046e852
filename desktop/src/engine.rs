//! Translates and traces, on a thread of its own, so that the window never waits.
//!
//! Only the last wish counts: a new text cancels what is being done for the old one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use eframe::egui::Context;
use wordloom::trace::{Trace, TraceError, TraceOptions};
use wordloom::transformer::{Cancel, GenerateError};
use wordloom::{Device, Model, TranslateError, TranslateOptions, Translator};

/// A text to be translated.
pub struct Request {
    /// Tells answers to this text from those to older ones.
    pub number: u64,
    pub text: String,
    pub options: TranslateOptions,
}

enum Wish {
    /// A folder, or the built-in model.
    Open(Option<PathBuf>),
    Translate(Box<Request>),
}

/// What the engine has to tell.
pub enum News {
    /// So much of a model has been read: 0 to 1.
    Loading(f32),
    /// A model is there.
    Ready(Opened),
    /// It is not, and the one before it stays.
    CannotOpen(String),
    /// A translation so far: what stays, and what may still change.
    Partial { number: u64, settled: String, open: String },
    /// A finished translation.
    Translated { number: u64, translation: Translated },
    /// What it left to be looked at.
    Traced { number: u64, trace: Arc<Trace> },
    /// Something failed that the user should know.
    Failed { number: u64, error: String },
}

/// A model that was opened.
#[derive(Clone, Default)]
pub struct Opened {
    pub folder: Option<PathBuf>,
    pub name: String,
    /// Empty for a model that knows one pair.
    pub languages: Vec<String>,
}

/// A translation, best first.
#[derive(Default)]
pub struct Translated {
    pub hypotheses: Vec<(String, f32)>,
    /// Whether a sentence was ended by the maximal length.
    pub cut_short: bool,
}

/// The thread, seen from the window.
pub struct Engine {
    wishes: Option<Sender<Wish>>,
    news: Receiver<News>,
    cancel: Cancel,
    ended: Receiver<()>,
}

impl Engine {
    /// Starts the thread. It repaints the window whenever it has news.
    pub fn start(device: Device, window: Context) -> std::io::Result<Self> {
        let (wishes, wished) = channel();
        let (tell, news) = channel();
        let (end, ended) = channel::<()>();
        std::thread::Builder::new().name("engine".into()).spawn(move || {
            let _end = end; // dropped when the thread ends, whatever ended it
            let tell = move |news| {
                let _ = tell.send(news); // the window may have been closed
                window.request_repaint();
            };
            Worker { device, translator: None, tell: Box::new(tell) }.run(&wished);
        })?;
        Ok(Self { wishes: Some(wishes), news, cancel: Cancel::default(), ended })
    }

    /// Opens a model; `None` is the built-in one.
    pub fn open(&mut self, folder: Option<PathBuf>) {
        self.cancel.cancel();
        self.send(Wish::Open(folder));
    }

    /// Translates a text, and gives up the one before.
    pub fn translate(&mut self, mut request: Request) {
        self.cancel.cancel();
        self.cancel = Cancel::default();
        request.options.cancel = self.cancel.clone();
        self.send(Wish::Translate(Box::new(request)));
    }

    /// Gives up what is being translated.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// What has happened since the last call.
    pub fn news(&self) -> Vec<News> {
        self.news.try_iter().collect()
    }

    fn send(&self, wish: Wish) {
        if let Some(wishes) = &self.wishes {
            let _ = wishes.send(wish); // a thread that has ended has said why
        }
    }
}

impl Drop for Engine {
    /// Lets the thread finish its step, so that a driver is not left in the middle of one; a model that is being read is
    /// not waited for.
    fn drop(&mut self) {
        self.cancel.cancel();
        self.wishes = None;
        let _ = self.ended.recv_timeout(Duration::from_secs(2));
    }
}

struct Worker {
    device: Device,
    translator: Option<(Translator, String)>,
    tell: Box<dyn Fn(News)>,
}

/// Partial translations are shown this often at most.
const BETWEEN_PARTS: Duration = Duration::from_millis(40);

impl Worker {
    fn run(mut self, wished: &Receiver<Wish>) {
        while let Ok(first) = wished.recv() {
            let (open, request) = last_wishes(first, wished);
            let number = request.as_ref().map_or(0, |request| request.number);
            let done = catch_unwind(AssertUnwindSafe(|| {
                if let Some(folder) = open {
                    self.open(folder.as_deref());
                }
                if let Some(request) = request {
                    self.translate(&request);
                }
            }));
            if done.is_err() {
                let error =
                    "this should not have happened, and is a fault of the program; the terminal says where";
                (self.tell)(News::Failed { number, error: error.into() });
            }
        }
        if let Some(gpu) = self.device.gpu() {
            gpu.store_pipelines(); // others may still hold the device when the program ends
        }
    }

    fn open(&mut self, folder: Option<&Path>) {
        (self.tell)(News::Loading(0.0));
        match self.load(folder) {
            Ok((translator, opened)) => {
                self.translator = Some((translator, opened.name.clone()));
                (self.tell)(News::Ready(opened));
            }
            Err(error) => (self.tell)(News::CannotOpen(error)),
        }
    }

    fn load(&self, folder: Option<&Path>) -> Result<(Translator, Opened), String> {
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
        // a text that is typed on repeats its first sentences
        let translator = translator.map_err(|error| error.to_string())?.with_cache(4 << 20);
        let name = match folder {
            Some(folder) => folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned(),
            None => "English–German, built in".to_owned(),
        };
        let languages = translator.tokenizer().languages().into_iter().map(str::to_owned).collect();
        Ok((translator, Opened { folder: folder.map(Path::to_owned), name, languages }))
    }

    fn translate(&self, request: &Request) {
        let Some((translator, name)) = &self.translator else { return };
        let Request { number, text, options } = request;
        let number = *number;
        let mut shown = Instant::now();
        let mut show = |partial: &wordloom::translate::PartialTranslation<'_>| {
            if shown.elapsed() >= BETWEEN_PARTS {
                shown = Instant::now();
                let (settled, open) = partial.text();
                (self.tell)(News::Partial { number, settled, open });
            }
        };
        let translation = match pollster::block_on(translator.translate_streaming(text, options, &mut show)) {
            Ok(translation) => translation,
            Err(TranslateError::Generate(GenerateError::Cancelled)) => return,
            Err(error) => return (self.tell)(News::Failed { number, error: error.to_string() }),
        };
        let cut_short = |sentence: &wordloom::translate::Sentence| {
            sentence.hypotheses.first().is_some_and(|best| best.reached_max_length)
        };
        let translated = Translated {
            hypotheses: translation.hypotheses.iter().map(|one| (one.text.clone(), one.score)).collect(),
            cut_short: translation.sentences.iter().any(cut_short),
        };
        (self.tell)(News::Translated { number, translation: translated });
        let kept = TraceOptions { model: name.clone(), ..TraceOptions::default() };
        match pollster::block_on(translator.trace_translation(text, translation, options, &kept)) {
            Ok(trace) => (self.tell)(News::Traced { number, trace: Arc::new(trace) }),
            Err(TraceError::Cancelled) => {}
            Err(_) if options.cancel.is_cancelled() => {}
            Err(error) => (self.tell)(News::Failed { number, error: format!("no attention: {error}") }),
        }
    }
}

/// The last model and the last text that were wished for; a text wished for before the model is out of date.
fn last_wishes(first: Wish, wished: &Receiver<Wish>) -> (Option<Option<PathBuf>>, Option<Box<Request>>) {
    let (mut open, mut request) = (None, None);
    let mut next = Some(first);
    while let Some(wish) = next {
        match wish {
            Wish::Open(folder) => (open, request) = (Some(folder), None),
            Wish::Translate(text) => request = Some(text),
        }
        next = wished.try_recv().ok();
    }
    (open, request)
}
