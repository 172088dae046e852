//! What the user asks for.

use std::time::Instant;

use eframe::egui::Context;
use wordloom::trace::HeadName;
use wordloom_hub::Place;

use super::{App, PAUSE};
use crate::check::{Check, CheckAction};
use crate::document::{Document, DocumentAction};
use crate::engine::Exploration;
use crate::files::Content;
use crate::languages::Picks;
use crate::swapping::Swapping;
use crate::switching::Switching;
use crate::translation::Actions;
use crate::viewer::{Question, Requests};

impl App {
    pub(super) fn apply_actions(&mut self, window: &Context, actions: &Actions) {
        if actions.typed {
            self.viewer.close_file();
            self.engine.cancel(); // the answer would be out of date
            self.due = Some(Instant::now() + PAUSE);
        }
        if actions.chosen {
            self.due = Some(Instant::now());
        }
        if actions.choose_model {
            self.files.choose_model();
        }
        if actions.about {
            self.about.open();
        }
        if actions.built_in_model {
            self.open_model(Place::default());
        }
        match actions.document {
            DocumentAction::None => {}
            DocumentAction::Choose => self.files.choose_document(),
            DocumentAction::Stop => self.engine.stop_document(),
            DocumentAction::Save => {
                if let Document::Translated { name, bytes } = &self.translation.document {
                    self.files.save(Content::Document { name: name.clone(), bytes: bytes.clone() });
                }
            }
            DocumentAction::Close => self.translation.document = Document::None,
        }
        match (&actions.check, &self.translation.check) {
            (CheckAction::Begin, _) => {
                self.translation.check = Check::Running(0.0);
                self.engine.check();
            }
            (CheckAction::CopyReport, Check::Finished { report }) => window.copy_text(report.clone()),
            _ => {}
        }
        if actions.undo.muting {
            self.mute(Vec::new());
        }
        if actions.undo.swapping {
            self.swap(self.muting.swapping.none());
        }
        if actions.undo.switching {
            self.switch(self.muting.switching.none());
        }
        if actions.copy {
            window.copy_text(self.translation.shown.text().to_owned());
        }
    }

    /// Passes the viewer's requests to the engine.
    pub(super) fn apply_requests(&mut self, requests: Requests) {
        if let Some(heads) = requests.muted {
            self.mute(heads);
        }
        if let Some(swapping) = requests.swapped {
            self.swap(swapping);
        }
        if let Some(switching) = requests.switched {
            self.switch(switching);
        }
        if let Some(inquiry) = requests.explain {
            self.engine.explain(inquiry);
        }
        if let Some(Question { number, source_ids, prefix }) = requests.search {
            let options = self.translation.options();
            self.engine.explore(Exploration { number, source_ids, prefix, options });
        }
    }

    /// Gives exactly these encoder layers another kind of self-attention.
    fn swap(&mut self, swapping: Swapping) {
        self.viewer.set_out_of_date();
        self.engine.swap(swapping.choice());
        self.muting.swapping = swapping;
        self.due = Some(Instant::now());
    }

    /// Switches exactly these parts; another shown place changes nothing.
    fn switch(&mut self, switching: Switching) {
        if switching.switches() != self.muting.switching.switches() {
            self.viewer.set_out_of_date();
            self.engine.switch(switching.switches());
            self.due = Some(Instant::now());
        }
        self.muting.switching = switching;
    }

    pub(super) fn apply_picks(&mut self, picks: Picks) {
        if picks.swapped {
            // an unfinished translation is a part of the text, or of an earlier one: it must not replace the text
            if let Some(translation) = self.translation.shown.finished().filter(|text| !text.is_empty()) {
                self.translation.text = translation.to_owned();
            }
            self.viewer.close_file();
        }
        if picks.changed {
            self.choose_models();
        }
        if !picks.get.is_empty() {
            self.models.get(picks.get);
        }
        if let (true, Some(download)) = (picks.stop, &self.models.download) {
            download.cancel();
        }
        if let Some(name) = picks.remove {
            self.models.remove(name);
        }
    }

    /// Mutes exactly these heads.
    fn mute(&mut self, heads: Vec<HeadName>) {
        self.viewer.set_out_of_date();
        self.muting.set(heads.clone());
        self.engine.mute(heads);
        self.due = Some(Instant::now());
    }
}
