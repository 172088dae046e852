//! The half of the window with the attention: all heads of a kind, one head, numbers, or the search.
//!
//! | file | |
//! |---|---|
//! | `choices` | the rows of choices above the picture |
//! | `maps` | maps, and the line about the cell under the pointer |
//! | `canvas`, `axes`, `sentence`, `play` | the picture, its labels, its texts, its playback |
//! | `numbers` | the table of all heads |
//! | `search` | the tree of a search, and its ranking |
//! | `microscope` | every number of one attention |

mod axes;
mod canvas;
mod choices;
mod maps;
mod microscope;
mod numbers;
mod play;
mod search;
mod sentence;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use eframe::egui::{RichText, Ui};
use wordloom::explain::Explanation;
use wordloom::heatmap::{Cell, ColourMap, Scale};
use wordloom::trace::{AttentionKind, HeadName, Trace};

use crate::engine::Explored;
use crate::files::Files;
use crate::gallery::{Gallery, Head};
use crate::muting::Muting;
use crate::swapping::Swapping;
use crate::switching::Switching;
use canvas::Canvas;
pub use microscope::Inquiry;
use microscope::{Microscope, Source};
use numbers::Numbers;
use play::Play;
pub use search::Question;
use search::{Search, Shown};

/// The state of the viewer.
pub struct Viewer {
    live: Option<Arc<Trace>>,
    /// An opened trace and its file name. It hides the live trace.
    file: Option<(String, Arc<Trace>)>,
    /// Whether the live trace is of the current model, which can continue it.
    answers: bool,
    sentence: usize,
    pub kind: AttentionKind,
    pub scale: Scale,
    pub colours: ColourMap,
    place: Place,
    canvas: Canvas,
    play: Play,
    numbers: Numbers,
    search: Search,
    microscope: Microscope,
    /// Whether the viewer is in a scrolling area, which has no height to fill.
    pub scrolls: bool,
    /// The cell under the pointer in the previous frame, for the line above the picture.
    at: Option<Cell>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    All,
    One(Head),
    Numbers,
    Search,
    Microscope,
}

/// Requests of the viewer for the engine.
#[derive(Default)]
pub struct Requests {
    /// A search to run.
    pub search: Option<Question>,
    /// An attention to explain.
    pub explain: Option<Inquiry>,
    /// The exact set of heads to mute.
    pub muted: Option<Vec<HeadName>>,
    /// The exact set of layers to swap.
    pub swapped: Option<Swapping>,
    /// The exact set of parts to switch.
    pub switched: Option<Switching>,
}

impl Viewer {
    pub fn new(kind: AttentionKind, scale: Scale, colours: ColourMap) -> Self {
        Self {
            live: None,
            file: None,
            answers: false,
            sentence: 0,
            kind,
            scale,
            colours,
            place: Place::All,
            canvas: Canvas::default(),
            play: Play::default(),
            numbers: Numbers::default(),
            search: Search::default(),
            microscope: Microscope::default(),
            scrolls: false,
            at: None,
        }
    }

    /// Sets the trace of the current translation. An opened file stays visible.
    pub fn set_live(&mut self, trace: Arc<Trace>) {
        self.live = Some(trace);
        self.answers = true;
        if self.file.is_none() {
            self.play.stop();
        }
    }

    /// Removes the trace of the current translation. An opened file stays visible.
    pub fn clear_live(&mut self) {
        self.live = None;
        self.set_out_of_date();
    }

    /// Marks the live trace as out of date, because its model was replaced or changed.
    pub fn set_out_of_date(&mut self) {
        self.answers = false;
        self.microscope.forget();
    }

    /// Forgets forced beginnings, because another model has other tokens.
    pub fn forget_model(&mut self) {
        self.answers = false;
        self.microscope.forget();
        self.search.forget();
    }

    /// The answer to a [`Question`].
    pub fn set_search(&mut self, number: u64, answer: Result<Box<Explored>, String>) {
        self.search.set(number, answer);
    }

    /// The answer to an [`Inquiry`].
    pub fn set_explanation(&mut self, number: u64, answer: Result<Box<Explanation>, String>) {
        self.microscope.set(number, answer);
    }

    /// Shows a trace from a file.
    pub fn open(&mut self, name: String, trace: Arc<Trace>) {
        self.file = Some((name, trace));
        self.sentence = 0;
        self.place = Place::All;
        self.play.stop();
        self.canvas.reset();
    }

    /// Returns to the live trace.
    pub fn close_file(&mut self) {
        if self.file.take().is_some() {
            (self.sentence, self.place) = (0, Place::All);
            self.canvas.reset();
        }
    }

    /// Whether the viewer shows a file.
    pub fn shows_file(&self) -> bool {
        self.file.is_some()
    }

    /// The heading of the current tab.
    pub fn heading(&self) -> &'static str {
        match self.place {
            Place::Search => "Search",
            Place::Microscope => "Microscope",
            _ => "Attention",
        }
    }

    fn trace(&self) -> Option<Arc<Trace>> {
        self.file.as_ref().map(|(_, trace)| trace).or(self.live.as_ref()).cloned()
    }

    /// Whether the current model made the shown trace.
    fn can_ask(&self) -> bool {
        self.answers && !self.shows_file()
    }

    /// All shown texts, for the choice of fonts.
    pub fn texts(&self) -> Vec<String> {
        let shown = self.trace();
        let sentence = shown.as_ref().and_then(|trace| trace.sentences.get(self.sentence));
        let texts = sentence.map_or_else(Vec::new, |one| vec![one.source.clone(), one.target.clone()]);
        let searched = self.search.letters().filter(|_| self.place == Place::Search);
        texts.into_iter().chain(searched.map(str::to_owned)).collect()
    }

    pub fn show(&mut self, ui: &mut Ui, gallery: &Gallery, files: &mut Files, muting: &Muting) -> Requests {
        let mut requests = Requests::default();
        self.show_file(ui);
        let Some(trace) = self.trace() else {
            self.show_nothing(ui, "The attention of a translation appears here.");
            return requests;
        };
        if trace.sentences.is_empty() {
            self.show_nothing(ui, "There is no sentence yet, so that there is no attention to see.");
            return requests;
        }
        self.sentence = self.sentence.min(trace.sentences.len() - 1);
        self.show_sentences(ui, &trace);
        self.show_places(ui);
        let sentence = &trace.sentences[self.sentence];
        if self.place != Place::Search {
            self.show_kinds(ui, sentence);
        }
        self.show_changes(ui, muting, &mut requests);
        self.numbers.attend(ui.ctx(), &trace, self.sentence, self.place == Place::Numbers);
        match self.place {
            Place::Search => {
                let (sentence, live, asks) = (self.sentence, !self.shows_file(), self.can_ask());
                let shown = Shown { trace: &trace, sentence, live, asks, scrolls: self.scrolls };
                requests.search = self.search.show(ui, &shown, files);
            }
            Place::Microscope => {
                let source = match (self.shows_file(), self.can_ask()) {
                    (true, _) => Source::Trace,
                    (false, true) => Source::Model,
                    (false, false) => Source::Nothing,
                };
                let (sentence, how) = (self.sentence, (source, self.scrolls));
                requests.explain = self.microscope.show(ui, (&trace, sentence), self.kind, how);
            }
            Place::Numbers => {
                if let Some(head) = self.numbers.show(ui, self.kind) {
                    self.go(Place::One(head));
                }
            }
            Place::One(head) => {
                requests.muted = self.show_head(ui, sentence, head, muting);
                self.show_maps(ui, &trace, gallery, files, muting);
            }
            Place::All => self.show_maps(ui, &trace, gallery, files, muting),
        }
        requests
    }

    fn go(&mut self, place: Place) {
        if self.place != place {
            self.place = place;
            self.canvas.reset();
        }
    }

    fn show_nothing(&self, ui: &mut Ui, why: &str) {
        ui.centered_and_justified(|ui| ui.label(RichText::new(why).weak()));
    }
}

/// The name of a head; `None` for a mean.
fn head_name(kind: AttentionKind, Head { layer, head }: Head) -> Option<HeadName> {
    head.map(|head| HeadName { kind, layer, head })
}
