//! Opens and saves files on separate threads: the system's dialogs, traces, pictures, and files dropped on the window.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use eframe::egui::Context;
use wordloom::heatmap::Pixels;
use wordloom::trace::{MAX_FILE_BYTES, Trace, TracedSearch};
use wordloom_documents::Format;

use crate::gallery::{PictureRequest, paint_once};

/// The kind of a path.
#[derive(Debug, PartialEq, Eq)]
pub enum Kind {
    /// A folder, which should be a model.
    Model(PathBuf),
    /// A document to translate.
    Document(PathBuf),
    /// A file, which should be a trace.
    Trace(PathBuf),
}

/// The kind of a path that the user gave. A file of a model stands for its folder.
pub fn kind(path: &Path) -> Kind {
    if path.is_dir() {
        return Kind::Model(path.to_owned());
    }
    let own_file = path.file_name().and_then(|name| name.to_str()).is_some_and(|name| {
        ["config.json", "generation_config.json", "tokenizer.json", "model.safetensors", "pytorch_model.bin"]
            .contains(&name)
            || name.ends_with(".spm")
    });
    match path.parent() {
        Some(folder) if own_file && folder.join("config.json").is_file() => Kind::Model(folder.to_owned()),
        // traces are JSON, too
        _ if Format::of_name(&path.to_string_lossy()).is_some_and(|format| format != Format::Json) => {
            Kind::Document(path.to_owned())
        }
        _ => Kind::Trace(path.to_owned()),
    }
}

/// The result of a task.
pub enum Done {
    /// The user chose a model's folder.
    Folder(PathBuf),
    /// The user chose a document.
    Document(PathBuf),
    /// A trace was read.
    Trace { path: PathBuf, trace: Arc<Trace> },
    /// A file was written.
    Saved(PathBuf),
    /// A task failed, with the reason.
    Failed(String),
}

/// Content to save.
pub enum Content {
    /// A trace, and additional searches of its sentences.
    Trace { trace: Arc<Trace>, searches: BTreeMap<usize, Arc<TracedSearch>> },
    /// A picture, painted after the user chose a file.
    Picture(Box<PictureRequest>),
    /// A translated document, with the name to suggest.
    Document { name: String, bytes: Arc<Vec<u8>> },
}

/// Running tasks and their results.
pub struct Files {
    tell: Sender<Option<Done>>,
    done: Receiver<Option<Done>>,
    window: Context,
    busy: usize,
}

impl Files {
    pub fn new(window: Context) -> Self {
        let (tell, done) = channel();
        Self { tell, done, window, busy: 0 }
    }

    /// Whether a task is running.
    pub fn is_busy(&self) -> bool {
        self.busy > 0
    }

    /// Opens the dialog for a model's folder.
    pub fn choose_model(&mut self) {
        self.apart("dialog", || {
            let dialog = rfd::FileDialog::new().set_title("Folder of a translation model");
            ask(NO_DIALOG, || dialog.pick_folder(), Done::Folder)
        });
    }

    /// Opens the dialog for a trace, and reads it.
    pub fn choose_trace(&mut self) {
        self.apart("dialog", || {
            let dialog = rfd::FileDialog::new().set_title("Trace of a translation");
            let dialog = dialog.add_filter("Traces", &["json", "safetensors"]);
            ask(NO_DIALOG, || dialog.pick_file(), |path| read(&path))
        });
    }

    /// Opens the dialog for a document to translate.
    pub fn choose_document(&mut self) {
        self.apart("dialog", || {
            let endings: Vec<&str> = Format::all_endings().collect();
            let dialog = rfd::FileDialog::new().set_title("Document to translate");
            let dialog = dialog.add_filter("Documents", &endings);
            ask(NO_DIALOG, || dialog.pick_file(), Done::Document)
        });
    }

    /// Reads a trace.
    pub fn read_trace(&mut self, path: PathBuf) {
        self.apart("trace", move || Some(read(&path)));
    }

    /// Opens the dialog for saving, and saves.
    pub fn save(&mut self, content: Content) {
        self.apart("dialog", move || {
            let dialog = rfd::FileDialog::new();
            let dialog = match content {
                Content::Trace { .. } => dialog
                    .set_title("Save the trace")
                    .set_file_name("translation.safetensors")
                    .add_filter("safetensors (half as large)", &["safetensors"])
                    .add_filter("JSON", &["json"]),
                Content::Picture(_) => dialog
                    .set_title("Save the picture")
                    .set_file_name("attention.png")
                    .add_filter("PNG", &["png"]),
                Content::Document { ref name, .. } => {
                    dialog.set_title("Save the translated document").set_file_name(name)
                }
            };
            ask(
                NO_DIALOG_TO_SAVE,
                || dialog.save_file(),
                |path| match write(&path, &content) {
                    Ok(()) => Done::Saved(path),
                    Err(error) => Done::Failed(format!("{} could not be saved: {error}", path.display())),
                },
            )
        });
    }

    /// The results since the last call.
    pub fn done(&mut self) -> Vec<Done> {
        let all: Vec<Option<Done>> = self.done.try_iter().collect();
        self.busy -= all.len().min(self.busy);
        all.into_iter().flatten().collect()
    }

    fn apart(&mut self, name: &str, work: impl FnOnce() -> Option<Done> + Send + 'static) {
        let (tell, window) = (self.tell.clone(), self.window.clone());
        let started = std::thread::Builder::new().name(name.into()).spawn(move || {
            let _ = tell.send(work()); // the window may have been closed
            window.request_repaint();
        });
        self.busy += 1;
        if let Err(error) = started {
            let _ = self.tell.send(Some(Done::Failed(format!("no thread could be started: {error}"))));
        }
    }
}

/// A dialog that ends sooner was never there: nobody reads and cancels one so fast.
const SOONEST: Duration = Duration::from_millis(250);
const NO_DIALOG: &str = "This system shows no dialog for files: install zenity, or xdg-desktop-portal and its backend for your \
                         desktop. Files and folders can also be dropped on this window.";
const NO_DIALOG_TO_SAVE: &str = "This system shows no dialog for files, so that nothing was saved: install zenity, or \
                                 xdg-desktop-portal and its backend for your desktop.";

/// Shows a dialog of the system, and goes on with the user's choice. The dialogs of Linux and BSD are programs that may be missing:
/// `missing` says so.
fn ask(
    missing: &str,
    dialog: impl FnOnce() -> Option<PathBuf>,
    go_on: impl FnOnce(PathBuf) -> Done,
) -> Option<Done> {
    let began = Instant::now();
    match dialog() {
        Some(path) => Some(go_on(path)),
        None if cfg!(any(windows, target_os = "macos")) || began.elapsed() >= SOONEST => None,
        None => Some(Done::Failed(missing.into())),
    }
}

fn read(path: &Path) -> Done {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if path.is_file() && !["json", "safetensors"].contains(&&*ending.to_ascii_lowercase()) {
        return Done::Failed(format!(
            "{} is of no kind that can be opened. Documents to translate end with one of {}; traces end with .json or \
             .safetensors; a model is a folder",
            path.display(),
            Format::endings()
        ));
    }
    let bytes = File::open(path).and_then(|file| {
        // the file's length may be wrong, so reading is limited, too
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    });
    let bytes = match bytes {
        Ok(bytes) => bytes,
        Err(error) => return Done::Failed(format!("{} could not be read: {error}", path.display())),
    };
    match Trace::from_bytes(&bytes) {
        Ok(trace) if trace.sentences.is_empty() => {
            Done::Failed(format!("{} is a trace without a sentence: there is nothing to see", path.display()))
        }
        Ok(trace) => Done::Trace { path: path.to_owned(), trace: Arc::new(trace) },
        Err(error) => Done::Failed(format!(
            "{} {error}. A trace comes from “Save trace”, or from `wordloom attend`; for a model, drop its folder; \
             JSON whose texts are to be translated is for “Translate a file”",
            path.display()
        )),
    }
}

fn write(path: &Path, content: &Content) -> Result<(), String> {
    let bytes = match content {
        Content::Trace { trace, searches } => {
            let trace = with_searches(trace, searches);
            match path.extension().is_some_and(|end| end.eq_ignore_ascii_case("json")) {
                true => trace.to_json().map_err(|error| error.to_string())?.into_bytes(),
                false => trace.to_safetensors().map_err(|error| error.to_string())?,
            }
        }
        Content::Picture(request) => {
            let pixels = paint_once(request).map_err(|error| error.to_string())?;
            png(&pixels).map_err(|error| error.to_string())?
        }
        Content::Document { bytes, .. } => return write_bytes(path, bytes),
    };
    write_bytes(path, &bytes)
}

/// A trace with these searches, copied only if there are any.
fn with_searches<'a>(trace: &'a Trace, searches: &BTreeMap<usize, Arc<TracedSearch>>) -> Cow<'a, Trace> {
    if searches.is_empty() {
        return Cow::Borrowed(trace);
    }
    let mut trace = trace.clone();
    for (index, search) in searches {
        if let Some(sentence) = trace.sentences.get_mut(*index) {
            sentence.search = Some(TracedSearch::clone(search));
        }
    }
    Cow::Owned(trace)
}

/// Writes to a temporary file and renames it, so that no partial file is visible.
fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let name = path.file_name().ok_or("that is no name for a file")?;
    let mut beside = name.to_owned();
    beside.push(format!(".{}.part", std::process::id()));
    let beside = path.with_file_name(beside);
    let written = File::create(&beside).and_then(|mut file| file.write_all(bytes));
    written.and_then(|()| std::fs::rename(&beside, path)).map_err(|error| {
        let _ = std::fs::remove_file(&beside); // it may not exist
        error.to_string()
    })
}

fn png(pixels: &Pixels) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(BufWriter::new(&mut bytes), pixels.width, pixels.height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels.rgba)?;
    writer.finish()?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use wordloom::decode::{Fate, SearchTree, TreeNode};
    use wordloom::trace::{TargetToken, Token, TracedSentence};

    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("wordloom-desktop-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    #[test]
    fn a_model_is_its_folder_and_each_of_its_files() {
        let folder = scratch("model");
        std::fs::write(folder.join("config.json"), "{}").expect("a file");
        assert_eq!(kind(&folder), Kind::Model(folder.clone()));
        assert_eq!(kind(&folder.join("config.json")), Kind::Model(folder.clone()));
        assert_eq!(kind(&folder.join("source.spm")), Kind::Model(folder.clone()));
        let trace = folder.join("trace.json");
        assert_eq!(kind(&trace), Kind::Trace(trace.clone()));
        let letter = folder.join("letter.DOCX");
        assert_eq!(kind(&letter), Kind::Document(letter.clone()));
        std::fs::remove_dir_all(folder).expect("it is there");
    }

    #[test]
    fn what_is_no_trace_is_named_with_the_way_out() {
        let folder = scratch("no-trace");
        let path = folder.join("shopping.json");
        std::fs::write(&path, "[\"milk\"]").expect("a file");
        for path in [path, folder.join("missing.json")] {
            let Done::Failed(error) = read(&path) else { panic!("{} was opened", path.display()) };
            assert!(error.contains(&path.display().to_string()), "{error}");
        }
        std::fs::remove_dir_all(folder).expect("it is there");
    }

    #[test]
    fn a_file_of_another_kind_is_told_what_can_be_opened() {
        let folder = scratch("other-kind");
        let path = folder.join("letter.PDF");
        std::fs::write(&path, "%PDF").expect("a file");
        let Done::Failed(error) = read(&path) else { panic!("it was opened") };
        for named in ["letter.PDF", ".docx", ".safetensors", "a model is a folder"] {
            assert!(error.contains(named), "{error}");
        }
        std::fs::remove_dir_all(folder).expect("it is there");
    }

    #[test]
    #[cfg(not(any(windows, target_os = "macos")))]
    fn a_missing_dialog_is_told_and_a_cancelled_one_is_not() {
        let never = |_| panic!("nothing was chosen");
        let told = ask(NO_DIALOG, || None, never);
        assert!(matches!(told, Some(Done::Failed(error)) if error == NO_DIALOG));
        let slow = || {
            std::thread::sleep(SOONEST);
            None
        };
        assert!(ask(NO_DIALOG, slow, never).is_none());
        let chosen = ask(NO_DIALOG, || Some("a".into()), Done::Saved);
        assert!(matches!(chosen, Some(Done::Saved(path)) if path == Path::new("a")));
    }

    #[test]
    fn a_picture_is_written_whole_and_leaves_nothing_beside_it() {
        let folder = scratch("picture");
        let path = folder.join("attention.png");
        let rgba = (0..2 * 3 * 4).map(|value| value * 10).collect::<Vec<u8>>();
        let pixels = Pixels { width: 2, height: 3, rgba: rgba.clone() };
        write_bytes(&path, &png(&pixels).expect("a picture")).expect("it can be written");
        let decoder = png::Decoder::new(std::io::BufReader::new(File::open(&path).expect("it is there")));
        let mut reader = decoder.read_info().expect("a picture");
        let mut back = vec![0; reader.output_buffer_size().expect("a size")];
        reader.next_frame(&mut back).expect("its pixels");
        assert_eq!((back, reader.info().size()), (rgba, (2, 3)));
        assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 1);
        std::fs::remove_dir_all(folder).expect("it is there");
    }

    #[test]
    fn a_trace_is_saved_with_the_searches_that_were_seen() {
        let token = Token { id: 5, piece: "▁a".into(), ..Token::default() };
        let target = TargetToken { token: token.clone(), ..TargetToken::default() };
        let sentence = TracedSentence {
            source_tokens: vec![token],
            target_tokens: vec![target.clone(), target],
            prompt: 1,
            ..TracedSentence::default()
        };
        let trace = Arc::new(Trace {
            model: "made up".into(),
            sentences: vec![sentence.clone(), sentence],
            anatomy: None,
        });
        let node = TreeNode {
            parent: None,
            step: 1,
            token: 5,
            log_probability: -0.5,
            sum: -0.5,
            fate: Fate::Finished,
        };
        let tree = SearchTree { beams: 1, length_penalty: 1.0, nodes: vec![node] };
        let search = TracedSearch { tree, pieces: [(5, "▁a".to_owned())].into() };
        let content = Content::Trace { trace, searches: [(1, Arc::new(search.clone()))].into() };
        let folder = scratch("trace");
        for name in ["a.json", "a.safetensors"] {
            write(&folder.join(name), &content).expect("it can be written");
            let Done::Trace { trace, .. } = read(&folder.join(name)) else { panic!("{name} is not read") };
            let found = trace.sentences.iter().map(|sentence| sentence.search.clone());
            assert_eq!(found.collect::<Vec<_>>(), [None, Some(search.clone())], "{name}");
        }
        std::fs::remove_dir_all(folder).expect("it is there");
    }
}
