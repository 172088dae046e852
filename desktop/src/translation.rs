//! The half of the window with the text, its translation, and the options.

use eframe::egui::text::LayoutJob;
use eframe::egui::{Context, FontId, Label, ProgressBar, RichText, ScrollArea, TextEdit, TextFormat, Ui};

use wordloom::TranslateOptions;
use wordloom_hub::Place;

use crate::check::{Check, CheckAction};
use crate::choice;
use crate::document::{Document, DocumentAction};
use crate::engine::{Opened, Progress, Translated};
use crate::languages::{Languages, Picks};
use crate::models::Models;
use crate::muting::{Muting, Undo};
use crate::remembered::{MOST_BEAMS, MOST_TEXT};
use crate::terms::Terms;
use crate::texts::{one_line, signed};
use crate::theme;

/// The text and its translation.
pub struct Translation {
    pub text: String,
    pub beams: usize,
    pub terms: Terms,
    pub source_language: Option<String>,
    pub target_language: Option<String>,
    pub shown: Shown,
    /// The current model.
    pub model: Opened,
    /// The part of a model that has been read, while one is being opened.
    pub loading: Option<f32>,
    /// How far a translation is that takes long.
    pub progress: Option<Progress>,
    pub document: Document,
    /// Lines about the devices.
    pub machine: Vec<String>,
    pub check: Check,
}

/// The state of a translation.
#[derive(Default)]
pub enum Shown {
    /// There is no text.
    #[default]
    Nothing,
    /// The translation was requested. The previous one stays, in a paler colour.
    Waiting(String),
    /// The final part, and the part that may change.
    Partial(String, String),
    /// The translation is finished.
    Finished(Translated),
}

impl Shown {
    /// The translation so far.
    pub fn text(&self) -> &str {
        match self {
            Self::Nothing => "",
            Self::Waiting(before) => before,
            Self::Partial(settled, _) => settled,
            Self::Finished(translated) => translated.hypotheses.first().map_or("", |(text, _)| text),
        }
    }

    /// The translation, once it is finished.
    pub fn finished(&self) -> Option<&str> {
        matches!(self, Self::Finished(_)).then(|| self.text())
    }
}

/// The picker of languages, between the text and its translation.
pub struct Picker<'a> {
    pub languages: &'a mut Languages,
    pub models: &'a Models,
    /// The user's picks in this frame.
    pub picks: Picks,
}

/// The user's actions in this frame.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct Actions {
    /// Whether the text changed.
    pub typed: bool,
    /// Whether an option changed.
    pub chosen: bool,
    pub choose_model: bool,
    pub built_in_model: bool,
    pub copy: bool,
    pub document: DocumentAction,
    pub about: bool,
    pub check: CheckAction,
    pub undo: Undo,
}

const TEXT: f32 = 17.0;
/// Height of a line about the devices, in points.
const LINE: f32 = 22.0;

impl Translation {
    /// The options of the translation.
    pub fn options(&self) -> TranslateOptions {
        TranslateOptions {
            source_language: self.source_language.clone(),
            target_language: self.target_language.clone(),
            ..TranslateOptions::default().beams(self.beams)
        }
    }

    pub fn show(&mut self, ui: &mut Ui, muting: &Muting, picker: &mut Picker<'_>) -> Actions {
        let height = ui.available_height();
        let scrolling = ScrollArea::vertical().id_salt("translation").auto_shrink(false);
        scrolling.show(ui, |ui| self.show_all(ui, muting, picker, height)).inner
    }

    /// Shows everything in `height` points, or in more if necessary.
    fn show_all(&mut self, ui: &mut Ui, muting: &Muting, picker: &mut Picker<'_>, height: f32) -> Actions {
        let top = ui.cursor().top();
        let mut actions = Actions::default();
        self.show_model(ui, &mut actions);
        picker.picks = picker.languages.show(ui, picker.models);
        let room = (height - 150.0).max(120.0);
        theme::card(ui).show(ui, |ui| {
            ScrollArea::vertical().id_salt("source").max_height(room * 0.45).show(ui, |ui| {
                let source = TextEdit::multiline(&mut self.text)
                    .id_salt("text to translate")
                    .hint_text("Write something…")
                    .font(FontId::proportional(TEXT))
                    .frame(eframe::egui::Frame::NONE)
                    .desired_width(f32::INFINITY)
                    .desired_rows(3);
                let source = ui.add(source);
                name(ui.ctx(), source.id, "Text to translate");
                actions.typed = source.changed();
            });
        });
        if self.text.len() > MOST_TEXT {
            let told = "The text is too long to be kept for the next start.";
            ui.label(RichText::new(told).color(ui.visuals().warn_fg_color));
        }
        self.show_choices(ui, &mut actions);
        theme::card(ui).show(ui, |ui| {
            ui.set_width(ui.available_width());
            ScrollArea::vertical()
                .id_salt("target")
                .max_height(room * 0.45)
                .show(ui, |ui| self.show_result(ui));
        });
        actions.undo = muting.show(ui, &self.text, self.shown.finished());
        self.show_others(ui, &mut actions);
        actions.chosen |= self.terms.show(ui, self.model.way.first.is_some());
        if !self.model.name.is_empty() {
            actions.document = self.document.show(ui);
        }
        Languages::show_models(ui, picker.models, &mut picker.picks);
        let foot = self.machine.len() as f32 * LINE + ui.spacing().interact_size.y;
        ui.add_space((height - (ui.cursor().top() - top) - foot).max(0.0));
        for line in &self.machine {
            ui.add(Label::new(RichText::new(line).small().weak()).truncate());
        }
        ui.horizontal_wrapped(|ui| {
            theme::show_choice(ui);
            actions.about = ui.button(RichText::new("About").small()).clicked();
            actions.check = self.check.show(ui);
        });
        theme::follow_focus(ui);
        actions
    }

    fn show_model(&self, ui: &mut Ui, actions: &mut Actions) {
        ui.horizontal_wrapped(|ui| {
            match self.loading {
                Some(fraction) => {
                    ui.add(ProgressBar::new(fraction).desired_width(160.0).desired_height(6.0));
                    ui.label(RichText::new("reading the model").weak());
                }
                None if self.model.name.is_empty() => _ = ui.label(RichText::new("no model").weak()),
                None => _ = ui.label(RichText::new(&self.model.name).strong()),
            }
            actions.choose_model =
                ui.button("Open a model…").on_hover_text("The folder of a model; or drop it here").clicked();
            if cfg!(feature = "embedded-model") && matches!(self.model.way.last, Place::Folder(_)) {
                actions.built_in_model = ui.button("Built-in model").clicked();
            }
        });
    }

    fn show_choices(&mut self, ui: &mut Ui, actions: &mut Actions) {
        ui.horizontal_wrapped(|ui| {
            choice::show(ui, "beams", &self.beams.to_string(), None, |ui| {
                for beams in [1, 2, 4, 8, MOST_BEAMS] {
                    actions.chosen |=
                        ui.selectable_value(&mut self.beams, beams, beams.to_string()).changed();
                }
            });
            if !self.model.languages.is_empty() {
                for (label, chosen) in
                    [("from", &mut self.source_language), ("to", &mut self.target_language)]
                {
                    let shown = chosen.clone().unwrap_or_else(|| "as the model says".into());
                    choice::show(ui, label, &shown, None, |ui| {
                        actions.chosen |= ui.selectable_value(chosen, None, "as the model says").changed();
                        for language in &self.model.languages {
                            let value = Some(language.clone());
                            actions.chosen |= ui.selectable_value(chosen, value, language).changed();
                        }
                    });
                }
            }
            if matches!(self.shown, Shown::Waiting(_) | Shown::Partial(..)) {
                ui.spinner();
                // beside the spinner, because a long translation leaves no room below
                if let Some(Progress { what, fraction }) = &self.progress {
                    ui.label(RichText::new(format!("{what}: {:.0} %", 100.0 * fraction)).weak());
                }
            }
        });
    }

    fn show_result(&self, ui: &mut Ui) {
        let (ink, quiet) = (ui.visuals().text_color(), ui.visuals().weak_text_color());
        let format =
            |color| TextFormat { font_id: FontId::proportional(TEXT), color, ..TextFormat::default() };
        let mut job = LayoutJob::default();
        match &self.shown {
            Shown::Nothing => job.append("The translation appears here.", 0.0, format(quiet)),
            Shown::Waiting(before) => job.append(before, 0.0, format(quiet)),
            Shown::Partial(settled, open) => {
                job.append(settled, 0.0, format(ink));
                job.append(open, 0.0, format(quiet));
            }
            Shown::Finished(_) => job.append(self.shown.text(), 0.0, format(ink)),
        }
        job.wrap.max_width = ui.available_width();
        ui.label(job);
        if let Shown::Finished(Translated { between: Some(between), .. }) = &self.shown {
            ui.label(RichText::new(format!("through: {}", one_line(between))).small().weak())
                .on_hover_text("The text between the two models");
        }
        let Shown::Finished(Translated { cut_short, left_out_tokens, .. }) = self.shown else { return };
        let mut warn = |text: &str| ui.label(RichText::new(text).color(ui.visuals().warn_fg_color));
        if left_out_tokens > 0 {
            warn(&format!(
                "The text is too long for the model: its last {left_out_tokens} tokens are left out."
            ));
        }
        if cut_short {
            warn("A sentence reached the model's greatest length: something may be missing.");
        }
    }

    fn show_others(&self, ui: &mut Ui, actions: &mut Actions) {
        let Shown::Finished(translated) = &self.shown else { return };
        ui.horizontal_wrapped(|ui| {
            if !self.shown.text().is_empty() {
                actions.copy = ui.button("Copy").clicked();
            }
        });
        if translated.hypotheses.len() < 2 {
            return;
        }
        ui.collapsing("Other translations", |ui| {
            ScrollArea::vertical().id_salt("others").max_height(140.0).show(ui, |ui| {
                for (text, score) in &translated.hypotheses[1..] {
                    ui.horizontal_wrapped(|ui| {
                        ui.label(RichText::new(signed(*score, 3)).weak().monospace())
                            .on_hover_text("The logarithm of its probability, over its length");
                        ui.label(text);
                    });
                }
            });
        });
    }
}

/// Sets the name of a widget without label, for screen readers.
pub fn name(window: &Context, id: eframe::egui::Id, name: &str) {
    window.accesskit_node_builder(id, |node| node.set_label(name));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_finished_translation_may_take_the_place_of_the_text() {
        let translated = Translated { hypotheses: vec![("Wo?".into(), -0.5)], ..Translated::default() };
        assert_eq!(Shown::Finished(translated).finished(), Some("Wo?"));
        for unfinished in [Shown::Waiting("Wo".into()), Shown::Partial("Wo".into(), " ist".into())] {
            assert_eq!((unfinished.text(), unfinished.finished()), ("Wo", None));
        }
    }
}
