//! How the translation of a sentence was found: the tree of its search, its ranking under another length penalty, and
//! branches to go on from.
//!
//! The search is one of its own, made while somebody looks: what translating costs does not depend on it.

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

/// What is asked of the engine.
pub struct Question {
    pub number: u64,
    pub source_ids: Vec<u32>,
    /// What the translation is to begin with.
    pub prefix: Vec<u32>,
}

/// What the viewer shows, and whether there is a model to ask about it.
pub struct Shown<'a> {
    pub trace: &'a Arc<Trace>,
    pub sentence: usize,
    /// Whether it was translated now, and does not come from a file.
    pub live: bool,
    pub asks: bool,
    /// Whether there is no end to fill up to.
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
    /// The last one; it stays, paler, while the next is on its way.
    found: Option<Found>,
    error: Option<String>,
    /// What was looked up or asked for last.
    subject: Option<Subject>,
    /// Whether its answer is still to come.
    waiting: bool,
    /// Of the last question.
    number: u64,
    forced: Option<Forced>,
    /// What hypotheses are ranked by; `None`: as the search did.
    penalty: Option<f32>,
    tree: Tree,
    seen: Seen,
}

/// What a search is of.
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

/// What a translation has to begin with, and the tokens of the sentence for which that holds.
struct Forced {
    source_ids: Vec<u32>,
    prefix: Vec<u32>,
    words: String,
}

/// Searches of the sentences of a trace that were looked at, for its file.
#[derive(Default)]
struct Seen {
    trace: Weak<Trace>,
    searches: BTreeMap<usize, Arc<TracedSearch>>,
}

/// Room that what is below a tree has at least, points.
const BELOW: f32 = 280.0;
/// Where there is no end to fill up to, a tree has so much.
const HIGH: f32 = 420.0;

impl Search {
    /// Another model has other tokens: nothing can begin as it was, and an answer that is still to come is void.
    pub fn forget(&mut self) {
        *self = Self { number: self.number, penalty: self.penalty, ..Self::default() };
    }

    /// The answer to a question.
    pub fn set(&mut self, number: u64, answer: Result<Box<Explored>, String>) {
        if number != self.number || !self.waiting {
            return; // nobody asks that any more
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

    /// Whether an answer is still to come.
    #[cfg(test)]
    pub fn is_waiting(&self) -> bool {
        self.waiting
    }

    fn put(&mut self, found: Option<Found>, error: Option<String>) {
        (self.found, self.error) = (found, error);
        self.tree.reset();
    }

    /// A trace as it is saved: with the searches of its sentences that were looked at.
    pub fn content(&self, trace: &Arc<Trace>) -> Content {
        let own = Weak::ptr_eq(&self.seen.trace, &Arc::downgrade(trace));
        let searches = if own { self.seen.searches.clone() } else { BTreeMap::new() };
        Content::Trace { trace: trace.clone(), searches }
    }

    /// Its letters, to be looked through for some that no font has.
    pub fn letters(&self) -> Option<&str> {
        self.found.as_ref().map(|found| &*found.letters)
    }

    /// Shows the search of a sentence; what has to be asked for it.
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
            ui.ctx().request_repaint(); // the next frame asks
        }
        if save {
            files.save(self.content(shown.trace));
        }
        question
    }

    /// Finds out what is to be shown: what has to be asked for it, and whether what is there is of something else.
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

    /// What holds for the sentence that is shown.
    fn forced(&self, shown: &Shown<'_>) -> Option<&Forced> {
        self.forced.as_ref().filter(|forced| shown.live && forced.source_ids == shown.source_ids())
    }

    /// Says that a branch was taken, with a way back.
    fn show_forced(&mut self, ui: &mut Ui, shown: &Shown<'_>) {
        let Some(forced) = self.forced(shown) else { return };
        let mut back = false;
        ui.horizontal_wrapped(|ui| {
            back = ui
                .button("As searched")
                .on_hover_text("Back to the search that nobody interfered with")
                .clicked();
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
            (true, true) => return, // the error has been told
        };
        ui.horizontal_wrapped(|ui| {
            if self.waiting {
                ui.spinner();
            }
            ui.label(RichText::new(why).weak());
        });
    }
}
