//! What the threads tell the window.

use std::time::Instant;

use eframe::egui::Context;
use wordloom_hub::Place;

use super::App;
use crate::check::Check;
use crate::document::Document;
use crate::dropping;
use crate::engine::{Checked, DocumentNews, News, Opened, Progress, Way};
use crate::files::Done;
use crate::models::Told;
use crate::texts::shortened;
use crate::translation::Shown;

impl App {
    /// Handles the events of the threads.
    pub(super) fn handle_events(&mut self, window: &Context) {
        for news in self.engine.news() {
            self.handle_engine(news);
        }
        self.handle_models();
        for done in self.files.done() {
            match done {
                Done::Folder(folder) => self.open_model(Place::Folder(folder)),
                Done::Document(path) => self.translate_document(path),
                Done::Trace { path, trace } => {
                    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
                    self.viewer.open(shortened(&name, 60), trace);
                }
                Done::Saved(path) => self.notices.add(format!("Saved: {}", path.display()), false),
                Done::Failed(error) => self.notices.add(error, true),
            }
        }
        let dropped = dropping::dropped(window);
        if let Some(path) = dropped.first() {
            self.open_path(path);
        }
        if dropped.len() > 1 {
            self.notices.add("One thing at a time: the first of the dropped files was opened.".into(), false);
        }
    }

    fn handle_engine(&mut self, news: News) {
        let current = self.number;
        if let News::Failed { .. } | News::Loading(_) = news {
            self.translation.progress = None;
        }
        let shown = &mut self.translation.shown;
        match news {
            News::Loading(fraction) => self.translation.loading = Some(fraction),
            News::Ready(opened) => self.handle_opened(*opened),
            News::CannotOpen(error) => {
                self.translation.loading = None;
                if self.translation.model.name.is_empty()
                    && cfg!(feature = "embedded-model")
                    && self.way != Some(Way { languages: self.languages.pair(), ..Way::default() })
                {
                    let end = if error.ends_with(['.', '?', '!']) { "" } else { "." };
                    self.notices.add(format!("{error}{end} The built-in model is taken instead."), true);
                    self.open_model(Place::default());
                } else {
                    self.notices.add(error, true);
                    self.due = Some(Instant::now()); // opening cancelled the translation
                }
            }
            News::Muted { heads, error } => {
                self.muting.set(heads);
                if let Some(error) = error {
                    self.notices.add(error, true);
                }
            }
            News::NotSwapped(error) => {
                self.muting.swapping = self.muting.swapping.none();
                self.notices.add(error, true);
            }
            News::NotSwitched(error) => {
                self.muting.switching = self.muting.switching.none();
                self.notices.add(error, true);
            }
            News::Beginning { number, progress } if number == current => {
                self.translation.progress = Some(progress);
            }
            News::Partial { number, settled, open, fraction } if number == current => {
                let translating = |fraction| Progress { what: "translating".into(), fraction };
                self.translation.progress = fraction.map(translating);
                *shown = Shown::Partial(settled, open);
            }
            News::Translated { number, translation } if number == current => {
                self.translation.progress = None;
                *shown = Shown::Finished(translation);
                if let Some(text) = self.plain.take() {
                    self.muting.remember_plain(text, shown.text().to_owned());
                }
            }
            News::Traced { number, trace } if number == current => self.viewer.set_live(trace),
            News::Document(news) => self.handle_document(news),
            News::Checking(fraction) => self.translation.check = Check::Running(fraction),
            News::Checked(checked) => self.handle_checked(checked),
            News::Explored { number, answer } => self.viewer.set_search(number, answer),
            News::Explained { number, answer } => self.viewer.set_explanation(number, answer),
            News::Failed { number, error } if number == current || number == 0 => {
                *shown = Shown::Nothing;
                if number == 0 {
                    self.translation.loading = None; // a model failed, not a text
                }
                self.notices.add(error, true);
            }
            // answers to an older text
            News::Beginning { .. }
            | News::Partial { .. }
            | News::Translated { .. }
            | News::Traced { .. }
            | News::Failed { .. } => {}
        }
    }

    /// A model is there.
    fn handle_opened(&mut self, opened: Opened) {
        self.translation.loading = None;
        self.way = Some(opened.way.clone());
        let known = |language: &String| opened.languages.contains(language);
        self.translation.source_language = self.translation.source_language.take().filter(known);
        self.translation.target_language = self.translation.target_language.take().filter(known);
        let layers = opened.layers;
        self.translation.model = opened;
        self.viewer.forget_model();
        self.muting.forget(layers);
        self.due = Some(Instant::now());
        if let Some(path) = self.waiting.take() {
            self.translate_document(path);
        }
    }

    fn handle_checked(&mut self, checked: Result<Checked, String>) {
        match checked {
            Ok(Checked { usable, summary, report }) => {
                self.translation.check = Check::Finished { report };
                self.notices.add(summary, !usable);
            }
            Err(error) => {
                self.translation.check = Check::Possible;
                self.notices.add(format!("The check could not be finished: {error}"), true);
            }
        }
    }

    fn handle_document(&mut self, news: DocumentNews) {
        let document = &mut self.translation.document;
        match news {
            DocumentNews::Reached(fraction) => document.reach(fraction),
            DocumentNews::Translated { path, bytes, language } => {
                document.finish(&path, language.as_deref(), bytes);
            }
            DocumentNews::Ended(why) => {
                *document = Document::None;
                why.into_iter().for_each(|why| self.notices.add(why, true));
            }
        }
    }

    fn handle_models(&mut self) {
        for told in self.models.told() {
            match told {
                Told::Changed(text) => self.notices.add(text, false),
                Told::Failed(error) => self.notices.add(error, true),
                Told::Listed(_) | Told::Stopped => {}
            }
            self.languages.refresh(&self.models);
            if self.languages.picked.is_some() || self.way.is_none() {
                self.choose_models();
            }
        }
    }
}
