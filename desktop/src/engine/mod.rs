//! Translates, traces and searches on a separate thread, so that the window never waits.
//!
//! Only the last command of each kind counts: a new text cancels the work for the old one. A document is translated in rounds, between
//! which the other commands are executed.

mod commands;
pub mod document;
mod residents;
mod worker;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use eframe::egui::Context;
use wordloom::Device;
use wordloom::explain::Explanation;
use wordloom::model::{SelfAttentionChoice, Switches};
use wordloom::trace::{HeadName, Trace, TracedSearch};
use wordloom::transformer::Cancel;

use crate::viewer::Inquiry;
use commands::Command;
pub use commands::{Exploration, Request, Way};
pub use document::Order;
use residents::Residents;
use worker::Worker;

/// Bytes of weights that stay loaded, besides those that are in use.
const MEMORY: u64 = 2 << 30;

/// An event of the engine.
pub enum News {
    /// The part of a model that has been read: 0 to 1.
    Loading(f32),
    /// A model was opened.
    Ready(Box<Opened>),
    /// A model could not be opened. The previous model stays.
    CannotOpen(String),
    /// The muted heads. `error` says why they differ from the requested ones.
    Muted { heads: Vec<HeadName>, error: Option<String> },
    /// The reason why no layer is swapped.
    NotSwapped(String),
    /// The switches do not fit the model, which has all of its parts now.
    NotSwitched(String),
    /// Work before the first word of a translation.
    Beginning { number: u64, progress: Progress },
    /// A partial translation: the final part, and the part that may change. Of several sentences that take long, also the finished
    /// part of the work, 0 to 1.
    Partial { number: u64, settled: String, open: String, fraction: Option<f32> },
    /// A finished translation.
    Translated { number: u64, translation: Translated },
    /// The trace of a finished translation.
    Traced { number: u64, trace: Arc<Trace> },
    /// The search of a sentence, or an error.
    Explored { number: u64, answer: Result<Box<Explored>, String> },
    /// Every number of one attention, or an error.
    Explained { number: u64, answer: Result<Box<Explanation>, String> },
    /// A failure that the user should see.
    Failed { number: u64, error: String },
    /// An event of the document.
    Document(DocumentNews),
    /// The part of the GPU's check that is finished: 0 to 1.
    Checking(f32),
    /// The result of the check, or why it could not be finished.
    Checked(Result<Checked, String>),
}

/// The result of a check.
pub struct Checked {
    /// Whether the GPU computes right numbers, perhaps without some kernels.
    pub usable: bool,
    /// One sentence.
    pub summary: String,
    /// The report in Markdown.
    pub report: String,
}

/// An event of the document that is translated.
pub enum DocumentNews {
    /// The part that is translated: 0 to 1.
    Reached(f32),
    /// The translated document, and the code of its language, if that is known.
    Translated { path: PathBuf, bytes: Vec<u8>, language: Option<String> },
    /// It is not translated any more, and why, unless the user stopped it.
    Ended(Option<String>),
}

/// A model that was opened.
#[derive(Clone, Default)]
pub struct Opened {
    pub way: Way,
    /// Name of the model, or of both.
    pub name: String,
    /// Number of encoder layers of the model that writes the translation.
    pub layers: [usize; 2],
    /// Language codes to choose from; empty for a model of one pair, and if the languages were picked.
    pub languages: Vec<String>,
}

/// Work that takes long.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    pub what: String,
    /// The finished part: 0 to 1.
    pub fraction: f32,
}

/// A translation with its hypotheses, best first.
#[derive(Default)]
pub struct Translated {
    pub hypotheses: Vec<(String, f32)>,
    /// Whether a sentence reached the maximal length.
    pub cut_short: bool,
    /// Number of tokens at the end of a document that the model did not read.
    pub left_out_tokens: usize,
    /// Text in the language between, if there are two models.
    pub between: Option<String>,
}

/// The tree of a search.
pub struct Explored {
    pub search: TracedSearch,
    /// The forced beginning of the translation. The search has these pieces, too.
    pub prefix: Vec<u32>,
    /// Complete texts, by the node that ends the hypothesis.
    pub texts: BTreeMap<usize, String>,
    /// Tokens that end a translation.
    pub ends: BTreeSet<u32>,
}

/// The window's handle of the thread.
pub struct Engine {
    commands: Option<Sender<Command>>,
    news: Receiver<News>,
    translating: Cancel,
    exploring: Cancel,
    of_document: Cancel,
    ended: Receiver<()>,
}

impl Engine {
    /// Starts the thread. It repaints the window after every event.
    pub fn start(device: Device, window: Context) -> std::io::Result<Self> {
        let (commands, received) = channel();
        let (tell, news) = channel();
        let (end, ended) = channel::<()>();
        std::thread::Builder::new().name("engine".into()).spawn(move || {
            let _end = end; // dropped when the thread ends, also by a panic
            let tell = move |news| {
                let _ = tell.send(news); // the window may have been closed
                window.request_repaint();
            };
            let residents = Residents::new(MEMORY);
            Worker { device, residents, way: None, document: None, tell: Box::new(tell) }.run(&received);
        })?;
        let (translating, exploring, of_document) = Default::default();
        Ok(Self { commands: Some(commands), news, translating, exploring, of_document, ended })
    }

    /// Opens models. Those that are loaded already stay so, as far as there is memory.
    pub fn open(&mut self, way: Way) {
        self.cancel_all();
        self.send(Command::Open(Box::new(way)));
    }

    /// Mutes exactly these heads. Cancels the current work.
    pub fn mute(&mut self, heads: Vec<HeadName>) {
        self.cancel_all();
        self.send(Command::Mute(heads));
    }

    /// Gives exactly these encoder layers another kind of self-attention. Cancels the current work.
    pub fn swap(&mut self, choice: SelfAttentionChoice) {
        self.cancel_all();
        self.send(Command::Swap(choice));
    }

    /// Switches exactly these parts. Cancels the current work.
    pub fn switch(&mut self, switches: Switches) {
        self.cancel_all();
        self.send(Command::Switch(switches));
    }

    /// Translates a text. Cancels the previous one.
    pub fn translate(&mut self, mut request: Request) {
        self.cancel_all();
        self.translating = Cancel::default();
        request.options.cancel = self.translating.clone();
        self.send(Command::Translate(Box::new(request)));
    }

    /// Searches for a sentence and reports the tree. Cancels the previous search.
    pub fn explore(&mut self, mut exploration: Exploration) {
        self.exploring.cancel();
        self.exploring = Cancel::default();
        exploration.options.cancel = self.exploring.clone();
        self.send(Command::Explore(Box::new(exploration)));
    }

    /// Says every number of one attention.
    pub fn explain(&self, inquiry: Inquiry) {
        self.send(Command::Explain(Box::new(inquiry)));
    }

    /// Translates a document beside what is typed. Another model, or a change of it, ends that. Cancels the previous document.
    pub fn translate_document(&mut self, mut order: Order) {
        self.of_document.cancel();
        self.of_document = Cancel::default();
        order.options.cancel = self.of_document.clone();
        self.send(Command::Document(Box::new(order)));
    }

    /// Cancels the document.
    pub fn stop_document(&self) {
        self.of_document.cancel();
    }

    /// Compares the GPU with the CPU. Everything else waits.
    pub fn check(&self) {
        self.send(Command::Check);
    }

    /// Cancels the current translation.
    pub fn cancel(&self) {
        self.translating.cancel();
    }

    /// The events since the last call.
    pub fn news(&self) -> Vec<News> {
        self.news.try_iter().collect()
    }

    fn cancel_all(&self) {
        self.translating.cancel();
        self.exploring.cancel();
    }

    fn send(&self, command: Command) {
        if let Some(commands) = &self.commands {
            let _ = commands.send(command); // a thread that has ended has reported why
        }
    }
}

impl Drop for Engine {
    /// Waits until the thread has finished its step, so that no driver call is interrupted. Does not wait for a model that is
    /// being read.
    fn drop(&mut self) {
        self.cancel_all();
        self.of_document.cancel();
        self.commands = None;
        let _ = self.ended.recv_timeout(Duration::from_secs(2));
    }
}

#[cfg(all(test, feature = "embedded-model"))]
mod tests {
    use std::cell::Cell;
    use std::time::Instant;

    use wordloom::decode::Fate;
    use wordloom::explain::StepKind;
    use wordloom::translate::GlossaryFile;
    use wordloom::{DeviceChoice, TranslateOptions};
    use wordloom_hub::{Language, Place};

    use super::*;

    const TEXT: &str = "Where is the train station?";

    /// Waits for an event and skips all others.
    fn wait_for<T>(engine: &Engine, wanted: impl Fn(News) -> Option<T>) -> T {
        let mut heard = Instant::now();
        loop {
            let news = engine.news();
            if !news.is_empty() {
                heard = Instant::now();
            }
            if let Some(found) = news.into_iter().find_map(&wanted) {
                return found;
            }
            assert!(heard.elapsed() < Duration::from_secs(60), "the engine is silent");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn explored(engine: &mut Engine, number: u64, source_ids: &[u32], prefix: &[u32]) -> Explored {
        let (source_ids, prefix) = (source_ids.to_vec(), prefix.to_vec());
        let options = TranslateOptions::default().beams(4);
        engine.explore(Exploration { number, source_ids, prefix, options });
        let answer = wait_for(engine, |news| match news {
            News::Explored { number: of, answer } if of == number => Some(answer),
            _ => None,
        });
        *answer.expect("a search")
    }

    fn translated(engine: &mut Engine, number: u64) -> Arc<Trace> {
        translated_text(engine, number, TEXT)
    }

    fn translated_text(engine: &mut Engine, number: u64, text: &str) -> Arc<Trace> {
        let options = TranslateOptions::default().beams(4);
        engine.translate(Request { number, text: text.into(), options, glossary: None });
        wait_for(engine, |news| match news {
            News::Traced { number: of, trace } if of == number => Some(trace),
            _ => None,
        })
    }

    fn started() -> Engine {
        let mut engine = Engine::start(Device::Cpu, Context::default()).expect("a thread");
        engine.open(Way::default());
        wait_for(&engine, |news| matches!(news, News::Ready(_)).then_some(()));
        engine
    }

    #[test]
    fn a_search_finds_what_was_translated_and_goes_on_where_it_is_told_to() {
        let mut engine = started();
        let trace = translated(&mut engine, 1);
        let sentence = &trace.sentences[0];
        let source_ids: Vec<u32> = sentence.source_tokens.iter().map(|token| token.id).collect();
        let free = explored(&mut engine, 1, &source_ids, &[]);
        let tree = &free.search.tree;
        assert_eq!(free.texts[&tree.finished(tree.length_penalty)[0]], sentence.target);
        let rejected = |node: &usize| {
            tree.nodes[*node].fate == Fate::Rejected && !free.ends.contains(&tree.nodes[*node].token)
        };
        let left = (0..tree.nodes.len()).find(rejected).expect("a rejected branch");
        let prefix = tree.tokens(left);
        let forced = explored(&mut engine, 2, &source_ids, &prefix);
        let words: String = prefix.iter().map(|token| free.search.pieces[token].replace('▁', " ")).collect();
        assert!(!forced.texts.is_empty());
        for text in forced.texts.values() {
            assert!(text.starts_with(words.trim()), "{text:?} after {words:?}");
        }
    }

    #[test]
    fn every_number_of_an_attention_is_there() {
        let mut engine = started();
        let trace = translated(&mut engine, 1);
        let explain = |head: &str, query| {
            let head = head.parse().expect("a head");
            engine.explain(Inquiry { number: 7, trace: trace.clone(), sentence: 0, head, query });
            wait_for(&engine, |news| match news {
                News::Explained { number: 7, answer } => Some(answer),
                _ => None,
            })
        };
        let explanation = explain("cross.1.3", 2).expect("an explanation");
        let sentence = &trace.sentences[0];
        assert_eq!(explanation.keys.len(), sentence.source_tokens.len());
        let weights = explanation.numbers(StepKind::Softmax, "weights").expect("weights");
        assert!((weights.values.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{weights:?}");
        let error = explain("cross.9.0", 0).expect_err("no such layer");
        assert!(error.contains("cross.9.0"), "{error}");
    }

    #[test]
    fn a_check_says_what_it_compared_and_the_engine_goes_on() {
        let device =
            pollster::block_on(Device::open(&DeviceChoice::Gpu)).expect("a GPU, perhaps in software");
        let mut engine = Engine::start(device, Context::default()).expect("a thread");
        engine.open(Way::default());
        wait_for(&engine, |news| matches!(news, News::Ready(_)).then_some(()));
        engine.check();
        let reached = Cell::new(0.0);
        let checked = wait_for(&engine, |news| match news {
            News::Checking(fraction) => {
                assert!((reached.get()..=1.0).contains(&fraction), "{fraction} after {}", reached.get());
                reached.set(fraction);
                None
            }
            News::Checked(checked) => Some(checked.expect("a device that stays")),
            _ => None,
        });
        assert_eq!(reached.get(), 1.0);
        assert!(checked.usable && checked.summary.contains("computes everything"), "{}", checked.summary);
        assert!(checked.report.contains("## Kernels") && checked.report.contains(&checked.summary));
        assert_eq!(translated(&mut engine, 1).sentences[0].target, "Wo ist der Bahnhof?");
    }

    #[test]
    fn a_glossary_prescribes_terms() {
        let mut engine = started();
        let mut translate = |number, terms: &str| {
            let glossary = GlossaryFile::parse("glossary", terms.as_bytes()).expect("terms");
            let (text, options) = (TEXT.into(), TranslateOptions::default());
            engine.translate(Request { number, text, options, glossary: Some(Arc::new(glossary)) });
            wait_for(&engine, |news| match news {
                News::Translated { translation, .. } => Some(translation.hypotheses[0].0.clone()),
                News::Failed { error, .. } => Some(error),
                _ => None,
            })
        };
        assert_eq!(translate(1, "train station = Zugbahnhof"), "Wo ist der Zugbahnhof?");
        assert_eq!(translate(2, "cat = Kater"), "Wo ist der Bahnhof?");
        let long = format!("train = {}", "Bahnhof ".repeat(200));
        assert!(translate(3, &long).starts_with("glossary, line 1: "));
    }

    /// A small model with random weights, as if it were of German and Korean.
    fn german_korean() -> Place {
        Place::Folder(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/models/marian_tied").into())
    }

    #[cfg(feature = "embedded-models")]
    #[test]
    fn every_model_of_the_program_is_opened() {
        let mut engine = Engine::start(Device::Cpu, Context::default()).expect("a thread");
        for model in wordloom_hub::BuiltIn::all() {
            engine.open(Way::of(model.place()));
            let opened = wait_for(&engine, |news| match news {
                News::Ready(opened) => Some(*opened),
                News::CannotOpen(error) => panic!("{error}"),
                _ => None,
            });
            assert!(opened.name.ends_with(", built in"), "{}", opened.name);
            engine.translate(Request {
                number: 0,
                text: if model.pair[0] == "de" { "Wo ist der Bahnhof?".into() } else { TEXT.into() },
                options: TranslateOptions::default(),
                glossary: None,
            });
            let translated = wait_for(&engine, |news| match news {
                News::Translated { translation, .. } => Some(translation.hypotheses[0].0.clone()),
                News::Failed { error, .. } => panic!("{error}"),
                _ => None,
            });
            assert!(translated.ends_with('?') && translated.len() > 10, "{}: {translated}", model.title);
        }
    }

    #[test]
    fn two_models_translate_as_each_alone_and_both_stay_loaded() {
        let mut engine = Engine::start(Device::Cpu, Context::default()).expect("a thread");
        let open = |engine: &mut Engine, way: Way| {
            engine.open(way);
            wait_for(engine, |news| match news {
                News::Ready(opened) => Some(*opened),
                News::CannotOpen(error) => panic!("{error}"),
                _ => None,
            })
        };
        let mut numbers = 0..;
        let mut translate = |engine: &mut Engine, text: &str| {
            let number = numbers.next().unwrap_or_default();
            let options = TranslateOptions::default().beams(1).max_length(12);
            engine.translate(Request { number, text: text.into(), options, glossary: None });
            wait_for(engine, |news| match news {
                News::Translated { number: of, translation } if of == number => Some(translation),
                News::Failed { error, .. } => panic!("{error}"),
                _ => None,
            })
        };
        let language = |code: &str| code.parse::<Language>().expect("a code");
        let korean = Way { languages: Some(["de", "ko"].map(language)), ..Way::of(german_korean()) };
        open(&mut engine, Way::default());
        let german = translate(&mut engine, TEXT).hypotheses[0].0.clone();
        assert_eq!(german, "Wo ist der Bahnhof?");
        open(&mut engine, korean.clone());
        let alone = translate(&mut engine, &german).hypotheses[0].0.clone();

        let first = Some((Place::default(), language("de")));
        let both = Way { first, languages: Some(["en", "ko"].map(language)), last: german_korean() };
        let opened = open(&mut engine, both.clone());
        assert_eq!(opened.way, both);
        assert!(opened.name.contains("built in") && opened.name.contains("marian_tied"), "{}", opened.name);
        let translated = translate(&mut engine, TEXT);
        assert_eq!((translated.between.as_deref(), &translated.hypotheses[0].0), (Some(&*german), &alone));
    }

    #[test]
    fn swapped_layers_translate_differently_and_another_use_of_the_model_begins_as_trained() {
        const TEXT: &str = "What are you going to do tomorrow morning?";
        let translated = |engine: &mut Engine, number| translated_text(engine, number, TEXT);
        let mut engine = started();
        let plain = translated(&mut engine, 1).sentences[0].target.clone();
        let swapped = |engine: &mut Engine, number: u64, choice: &str| {
            engine.swap(choice.parse().expect("a choice"));
            translated(engine, number).sentences[0].target.clone()
        };
        assert_eq!(swapped(&mut engine, 2, "encoder.*=window:64"), plain);
        assert_ne!(swapped(&mut engine, 3, "encoder.*=shared-qk"), plain);
        engine.swap("encoder.99=uniform".parse().expect("a choice"));
        let error = wait_for(&engine, |news| match news {
            News::NotSwapped(error) => Some(error),
            _ => None,
        });
        assert!(error.contains("encoder.99"), "{error}");
        assert_eq!(translated(&mut engine, 4).sentences[0].target, plain);
        assert_ne!(swapped(&mut engine, 5, "encoder.*=shared-qk"), plain);
        engine.open(Way::default());
        let layers = wait_for(&engine, |news| match news {
            News::Ready(opened) => Some(opened.layers[0]),
            _ => None,
        });
        assert_eq!(layers, 4);
        assert_eq!(translated(&mut engine, 6).sentences[0].target, plain);
    }

    #[test]
    fn parts_are_switched_off_and_on() {
        let mut engine = started();
        let plain = translated(&mut engine, 1).sentences[0].target.clone();
        engine.switch("positions=off".parse().expect("a switch"));
        assert_ne!(translated(&mut engine, 2).sentences[0].target, plain);
        engine.switch("encoder.99.norm=off".parse().expect("a switch"));
        let error = wait_for(&engine, |news| match news {
            News::NotSwitched(error) => Some(error),
            _ => None,
        });
        assert!(error.contains("there is no such layer"), "{error}");
        assert_eq!(translated(&mut engine, 3).sentences[0].target, plain);
        engine.switch("positions=off".parse().expect("a switch"));
        assert_ne!(translated(&mut engine, 4).sentences[0].target, plain);
        engine.open(Way::default());
        assert_eq!(translated(&mut engine, 5).sentences[0].target, plain, "another use begins as trained");
    }

    #[test]
    fn a_document_is_translated_while_texts_are_typed() {
        let mut engine = started();
        let folder = std::env::temp_dir().join(format!("wordloom-desktop-{}-document", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("letter.md");
        let line = "Where is the *train* station?\n\n";
        std::fs::write(&path, format!("# {TEXT}\n\n{}", line.repeat(40))).expect("a file");
        let order = |path| Order { path, options: TranslateOptions::default().beams(1), glossary: None };
        engine.translate_document(order(path.clone()));
        let reached = |news| matches!(news, News::Document(DocumentNews::Reached(_))).then_some(());
        wait_for(&engine, reached);
        let typed = translated(&mut engine, 1);
        let written = wait_for(&engine, |news| match news {
            News::Document(DocumentNews::Translated { bytes, .. }) => {
                Some(String::from_utf8(bytes).expect("UTF-8"))
            }
            News::Document(DocumentNews::Ended(error)) => panic!("{error:?}"),
            _ => None,
        });
        assert_eq!(typed.sentences[0].target, "Wo ist der Bahnhof?");
        let lines: Vec<&str> = written.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!((lines.len(), lines[0]), (41, "# Wo ist der Bahnhof?"));
        assert!(
            lines[1..]
                .iter()
                .all(|line| *line == "Wo ist der *Bahnhof?*" || *line == "Wo ist der *Bahnhof*?")
        );

        let ended = |news| match news {
            News::Document(DocumentNews::Ended(why)) => Some(why),
            _ => None,
        };
        engine.translate_document(order(path.clone()));
        wait_for(&engine, reached);
        engine.mute(Vec::new());
        let why = wait_for(&engine, ended).expect("a reason");
        assert!(why.contains("letter.md"), "{why}");
        engine.translate_document(order(path));
        wait_for(&engine, reached);
        engine.stop_document();
        assert_eq!(wait_for(&engine, ended), None);
        engine.translate_document(order(folder.join("letter.xyz")));
        let why = wait_for(&engine, ended).expect("a reason");
        assert!(why.contains(".docx"), "{why}");
        std::fs::remove_dir_all(folder).expect("it is there");
    }

    #[test]
    fn a_translation_without_its_heads_is_another_and_comes_back_with_them() {
        let mut engine = started();
        let plain = translated(&mut engine, 1);
        let layers = plain.sentences[0].attention.iter().filter(|layer| layer.kind.queries_target());
        let all = layers.flat_map(|layer| (0..layer.heads).map(|head| (layer.kind, layer.layer, head)));
        let all: Vec<HeadName> = all.map(|(kind, layer, head)| HeadName { kind, layer, head }).collect();
        let mute = |engine: &mut Engine, heads: Vec<HeadName>| {
            engine.mute(heads);
            wait_for(engine, |news| match news {
                News::Muted { heads, error } => Some((heads, error)),
                _ => None,
            })
        };
        assert_eq!(mute(&mut engine, all.clone()), (all.clone(), None));
        assert_ne!(translated(&mut engine, 2).sentences[0].target, plain.sentences[0].target);
        let (heads, error) = mute(&mut engine, vec![HeadName { layer: 99, ..all[0] }]);
        assert_eq!(heads, all, "what cannot be done changes nothing");
        assert!(error.is_some_and(|error| error.contains("no head")));
        assert_eq!(mute(&mut engine, Vec::new()), (Vec::new(), None));
        assert_eq!(translated(&mut engine, 3).sentences[0].target, plain.sentences[0].target);
    }
}
