//! The search for a sentence's translation: its tree, its ranking under another length penalty, and branches to continue
//! from.
//!
//! The viewer runs a separate search while it is visible, so that the translation itself does not become slower.

mod found;
mod layout;
mod ranking;
mod tree;

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use eframe::egui::{RichText, Ui};
use wordloom::trace::{Trace, TracedSearch, TracedSentence};

use crate::engine::Explored;
use crate::files::{Content, Files};
use crate::texts::shortened;
use found::Found;
use tree::Tree;

/// A request for a search.
pub struct Question {
    pub number: u64,
    pub source_ids: Vec<u32>,
    /// The forced beginning of the translation.
    pub prefix: Vec<u32>,
}

/// The shown sentence, and whether a model can search for it.
pub struct Shown<'a> {
    pub trace: &'a Arc<Trace>,
    pub sentence: usize,
    /// Whether it is the current translation, not from a file.
    pub live: bool,
    pub asks: bool,
    /// Whether the area scrolls, so that there is no height to fill.
    pub scrolls: bool,
}

impl Shown<'_> {
    fn sentence(&self) -> &TracedSentence {
        &self.trace.sentences[self.sentence]
    }

    fn source_ids(&self) -> Vec<u32> {
        self.sentence().source_tokens.iter().map(|token| token.id).collect()
    }
}

#[derive(Default)]
pub struct Search {
    /// The last search. It stays, in a paler colour, while the next one runs.
    found: Option<Found>,
    error: Option<String>,
    /// The subject that was requested last.
    subject: Option<Subject>,
    /// Whether its answer is pending.
    waiting: bool,
    /// Number of the last request.
    number: u64,
    forced: Option<Forced>,
    /// The length penalty of the ranking; `None` for the search's own.
    penalty: Option<f32>,
    tree: Tree,
    seen: Seen,
}

/// The subject of a search.
struct Subject {
    trace: Weak<Trace>,
    sentence: usize,
    prefix: Vec<u32>,
}

impl Subject {
    fn is(&self, other: &Self) -> bool {
        let same = (self.sentence, &self.prefix) == (other.sentence, &other.prefix);
        same && Weak::ptr_eq(&self.trace, &other.trace)
    }
}

/// A forced beginning, and the sentence that it belongs to.
struct Forced {
    source_ids: Vec<u32>,
    prefix: Vec<u32>,
    words: String,
}

/// Searches of a trace's sentences that were shown, for its file.
#[derive(Default)]
struct Seen {
    trace: Weak<Trace>,
    searches: BTreeMap<usize, Arc<TracedSearch>>,
}

/// The smallest room below a tree, in points.
const BELOW: f32 = 280.0;
/// Height of a tree in a scrolling area.
const HIGH: f32 = 420.0;

impl Search {
    /// Forgets forced beginnings and pending answers, because another model has other tokens.
    pub fn forget(&mut self) {
        *self = Self { number: self.number, penalty: self.penalty, ..Self::default() };
    }

    /// The answer to a question.
    pub fn set(&mut self, number: u64, answer: Result<Box<Explored>, String>) {
        if number != self.number || !self.waiting {
            return; // the answer is out of date
        }
        self.waiting = false;
        let found = answer.map(|explored| Found::by_engine(*explored));
        if let (Ok(found), Some(Subject { trace, sentence, prefix })) = (&found, &self.subject)
            && prefix.is_empty()
        {
            if !Weak::ptr_eq(trace, &self.seen.trace) {
                self.seen = Seen { trace: trace.clone(), searches: BTreeMap::new() };
            }
            self.seen.searches.insert(*sentence, found.search.clone());
        }
        match found {
            Ok(found) => self.put(Some(found), None),
            Err(error) => self.put(None, Some(error)),
        }
    }

    /// Whether an answer is pending.
    #[cfg(test)]
    pub fn is_waiting(&self) -> bool {
        self.waiting
    }

    fn put(&mut self, found: Option<Found>, error: Option<String>) {
        (self.found, self.error) = (found, error);
        self.tree.reset();
    }

    /// The trace to save, with the searches that were shown.
    pub fn content(&self, trace: &Arc<Trace>) -> Content {
        let own = Weak::ptr_eq(&self.seen.trace, &Arc::downgrade(trace));
        let searches = if own { self.seen.searches.clone() } else { BTreeMap::new() };
        Content::Trace { trace: trace.clone(), searches }
    }

    /// Its letters, for the choice of fonts.
    pub fn letters(&self) -> Option<&str> {
        self.found.as_ref().map(|found| &*found.letters)
    }

    /// Shows the search of a sentence. Returns a request, if one is needed.
    pub fn show(&mut self, ui: &mut Ui, shown: &Shown<'_>, files: &mut Files) -> Option<Question> {
        let (question, stale) = self.attend(shown);
        self.show_forced(ui, shown);
        if let Some(error) = &self.error {
            ui.label(RichText::new(shortened(error, 400)).color(ui.visuals().warn_fg_color));
        }
        let Some(found) = &mut self.found else {
            self.show_why_not(ui, shown);
            return question;
        };
        let of_search = found.search.tree.length_penalty;
        let penalty = self.penalty.unwrap_or(of_search);
        let ranked = found.search.tree.finished(penalty);
        let height = if shown.scrolls { HIGH } else { (ui.available_height() - BELOW).max(120.0) };
        let look = tree::Look { penalty, best: ranked.first().copied(), stale, height };
        let chosen = self.tree.show(ui, found, &look);
        let mut save = false;
        ui.horizontal_wrapped(|ui| {
            ranking::show_penalty(ui, &mut self.penalty, of_search);
            let button = ui.button("Save trace…");
            save = button.on_hover_text("With this search, to be opened again without the model").clicked();
        });
        if let Some(node) = ranking::show(ui, found, &ranked, penalty, shown.scrolls) {
            self.tree.go(node);
        }
        if let Some(prefix) = chosen.filter(|_| !stale).and_then(|node| found.prefix_through(node)) {
            let words = found.words(&prefix);
            self.forced = Some(Forced { source_ids: shown.source_ids(), prefix, words });
            ui.ctx().request_repaint(); // the next frame sends the request
        }
        if save {
            files.save(self.content(shown.trace));
        }
        question
    }

    /// Decides what to show. Returns the necessary request, and whether the present search is of another subject.
    fn attend(&mut self, shown: &Shown<'_>) -> (Option<Question>, bool) {
        let prefix = self.forced(shown).map_or_else(Vec::new, |forced| forced.prefix.clone());
        let subject = Subject { trace: Arc::downgrade(shown.trace), sentence: shown.sentence, prefix };
        if self.subject.as_ref().is_some_and(|before| before.is(&subject)) {
            return (None, self.waiting);
        }
        if !shown.live {
            let search = shown.sentence().search.as_ref();
            let found = search.map(|search| Found::in_file(search, shown.sentence()));
            self.put(found, None);
            (self.subject, self.waiting) = (Some(subject), false);
            return (None, false);
        }
        self.found.take_if(|found| found.is_of_a_file());
        if !shown.asks {
            return (None, true);
        }
        self.number += 1;
        let question =
            Question { number: self.number, source_ids: shown.source_ids(), prefix: subject.prefix.clone() };
        (self.subject, self.waiting, self.error) = (Some(subject), true, None);
        (Some(question), true)
    }

    /// The forced beginning of the shown sentence.
    fn forced(&self, shown: &Shown<'_>) -> Option<&Forced> {
        self.forced.as_ref().filter(|forced| shown.live && forced.source_ids == shown.source_ids())
    }

    /// Shows the forced beginning, with a button that removes it.
    fn show_forced(&mut self, ui: &mut Ui, shown: &Shown<'_>) {
        let Some(forced) = self.forced(shown) else { return };
        let mut back = false;
        ui.horizontal_wrapped(|ui| {
            back = ui.button("As searched").on_hover_text("Back to the free search").clicked();
            ui.label(format!("Made to begin with “{}”", shortened(&forced.words, 120)));
        });
        if back {
            self.forced = None;
            ui.ctx().request_repaint();
        }
    }

    fn show_why_not(&self, ui: &mut Ui, shown: &Shown<'_>) {
        let why = match (shown.live, shown.asks) {
            (false, _) => {
                "This trace has no search. Those of `wordloom attend` have one, and those that are saved here once it \
                 has been looked at."
            }
            (true, false) => "The search appears with the next translation.",
            (true, true) if self.waiting => "searching",
            (true, true) => return, // the error is shown elsewhere
        };
        ui.horizontal_wrapped(|ui| {
            if self.waiting {
                ui.spinner();
            }
            ui.label(RichText::new(why).weak());
        });
    }
}
