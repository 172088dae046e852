//! The picker of languages: what models here translate first, then what can be had.

use eframe::egui::{Button, ComboBox, ProgressBar, RichText, ScrollArea, Ui};
use wordloom_hub::{BuiltIn, Certainty, Detected, Language, Offer, Place, about, detect, suggest};

use crate::choice;
use crate::models::Models;
use crate::theme;

/// The picked languages.
#[derive(Default)]
pub struct Languages {
    /// The pair; `None` for the languages of an opened model.
    pub picked: Option<Picked>,
    /// The detected language of the text.
    detected: Option<Language>,
    lists: Lists,
}

/// A source and a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picked {
    /// `None`: it is detected.
    pub from: Option<Language>,
    pub to: Language,
}

/// Languages to pick from.
#[derive(Default)]
struct Lists {
    sources: Vec<Language>,
    more_sources: Vec<Language>,
    targets: Vec<Language>,
    /// Languages that can be had from the source, with the size.
    more_targets: Vec<(Language, String)>,
    /// Models for the pair, if none is here.
    offers: Vec<&'static Offer>,
}

/// The user's actions in this frame.
#[derive(Default)]
pub struct Picks {
    /// Whether other languages were picked.
    pub changed: bool,
    /// Whether source and target were swapped, and their texts with them.
    pub swapped: bool,
    /// Names of models to fetch.
    pub get: Vec<String>,
    /// Whether to stop the download.
    pub stop: bool,
    /// Name of a model to remove.
    pub remove: Option<String>,
}

/// The pair of a built-in model.
pub fn built_in(place: &Place) -> Option<Picked> {
    let [from, to] = BuiltIn::at(place)?.pair;
    Some(Picked { from: from.parse().ok(), to: to.parse().ok()? })
}

impl Languages {
    /// Reads the remembered codes: `auto` for a language that is detected.
    pub fn of_codes(from: Option<&str>, to: Option<&str>) -> Self {
        let picked = || {
            let from = match from? {
                "auto" => None,
                code => Some(code.parse().ok()?),
            };
            Some(Picked { from, to: to?.parse().ok()? })
        };
        Self { picked: picked(), ..Self::default() }
    }

    /// The codes to remember.
    pub fn codes(&self) -> [Option<String>; 2] {
        let Some(Picked { from, to }) = &self.picked else { return [None, None] };
        let from = from.as_ref().map_or_else(|| "auto".to_owned(), Language::to_string);
        [Some(from), Some(to.to_string())]
    }

    /// Source and target, as far as they are known.
    pub fn pair(&self) -> Option<[Language; 2]> {
        let Picked { from, to } = self.picked.as_ref()?;
        Some([from.clone().or_else(|| self.detected.clone())?, to.clone()])
    }

    /// Detects the language of the text, if the user wants that. A mere guess does not change it.
    pub fn look_at(&mut self, text: &str, models: &Models) {
        let Some(Picked { from: None, .. }) = self.picked else { return };
        let candidates: Vec<Language> =
            self.lists.sources.iter().chain(&self.lists.more_sources).cloned().collect();
        let Some(Detected { language, certainty, .. }) = detect(text, &candidates) else { return };
        let known = certainty != Certainty::Guess || self.detected.is_none();
        if known && self.detected.as_ref() != Some(&language) {
            self.detected = Some(language);
            self.refresh(models);
        }
    }

    /// Lists the languages again, for other models or another pair.
    pub fn refresh(&mut self, models: &Models) {
        let pair = self.pair();
        let source = pair.as_ref().map(|[from, _]| from);
        let installed = |from: &Language, to: &Language| models.way(from, to).is_some();
        let mut lists = Lists {
            sources: models.sources(),
            more_sources: models.more_sources(),
            targets: models.targets(source),
            ..Lists::default()
        };
        if let Some(from) = source {
            let all: std::collections::BTreeSet<Language> = wordloom_hub::catalogue()
                .iter()
                .flat_map(|offer| &offer.to)
                .filter_map(|code| Language::of_model(code))
                .filter(|to| !to.fits(from) && !lists.targets.iter().any(|here| here.fits(to)))
                .collect();
            let size = |to: Language| {
                let offers = suggest(from, &to, &installed)?;
                let bytes = offers.iter().map(|offer| offer.bytes).sum();
                Some((to, format!("{}, {}", about(bytes), licences(&offers))))
            };
            lists.more_targets = all.into_iter().filter_map(size).collect();
            lists.more_targets.sort_by_cached_key(|(language, _)| language.name());
        }
        if let Some([from, to]) = &pair
            && !installed(from, to)
        {
            lists.offers = suggest(from, to, &installed).unwrap_or_default();
        }
        self.lists = lists;
    }

    /// Source and target change places. A detected source becomes the picked target.
    fn swap(&mut self) -> bool {
        let Some([from, to]) = self.pair() else { return false };
        self.picked = Some(Picked { from: Some(to), to: from });
        true
    }

    pub fn show(&mut self, ui: &mut Ui, models: &Models) -> Picks {
        let mut picks = Picks::default();
        ui.horizontal_wrapped(|ui| {
            picks.changed |= self.show_source(ui);
            let swap = ui.add_enabled(self.pair().is_some(), Button::new("Swap"));
            let swap = swap.on_hover_text("Swap the languages and the texts");
            super::translation::name(ui.ctx(), swap.id, "Swap languages");
            if swap.clicked() {
                picks.swapped = self.swap();
                picks.changed |= picks.swapped;
            }
            picks.changed |= self.show_target(ui);
        });
        if picks.changed {
            self.refresh(models);
        }
        self.show_offer(ui, models, &mut picks);
        picks
    }

    fn show_source(&mut self, ui: &mut Ui) -> bool {
        let shown = match &self.picked {
            None => "As the model".to_owned(),
            Some(Picked { from: Some(from), .. }) => from.name(),
            Some(Picked { from: None, .. }) => match &self.detected {
                Some(found) => format!("Detected: {}", found.name()),
                None => "Detect".to_owned(),
            },
        };
        let mut wanted = None;
        let combo = ComboBox::from_id_salt("from").selected_text(shown).height(360.0);
        let list = choice::list(ui, combo, |ui| {
            let current = self.picked.as_ref().map(|picked| picked.from.clone());
            let mut row = |ui: &mut Ui, language: Option<&Language>| {
                let name = language.map_or_else(|| "Detect the language".to_owned(), Language::name);
                if ui.selectable_label(current == Some(language.cloned()), name).clicked() {
                    wanted = Some(language.cloned());
                }
            };
            row(ui, None);
            self.lists.sources.iter().for_each(|language| row(ui, Some(language)));
            heading(ui, "To download");
            self.lists.more_sources.iter().for_each(|language| row(ui, Some(language)));
        });
        super::translation::name(ui.ctx(), list.id, "From");
        let Some(from) = wanted else { return false };
        // a target that stays possible
        let to = self.picked.as_ref().map(|picked| picked.to.clone());
        let fits = |to: &Language| from.as_ref().is_none_or(|from| !from.fits(to));
        let to = to.filter(fits).or_else(|| self.lists.targets.iter().find(|to| fits(to)).cloned());
        let to = to.or_else(|| Some(Language::english()).filter(fits)).or_else(|| "de".parse().ok());
        let picked = to.map(|to| Picked { from, to });
        std::mem::replace(&mut self.picked, picked.clone()) != picked
    }

    fn show_target(&mut self, ui: &mut Ui) -> bool {
        let shown = self.picked.as_ref().map_or_else(|| "As the model".to_owned(), |picked| picked.to.name());
        let mut wanted = None;
        let combo = ComboBox::from_id_salt("to").selected_text(shown).height(360.0);
        let list = choice::list(ui, combo, |ui| {
            let current = self.picked.as_ref().map(|picked| &picked.to);
            let mut row = |ui: &mut Ui, language: &Language, more: &str| {
                let text = RichText::new(format!("{}{more}", language.name()));
                if ui.selectable_label(current == Some(language), text).clicked() {
                    wanted = Some(language.clone());
                }
            };
            self.lists.targets.iter().for_each(|language| row(ui, language, ""));
            heading(ui, "To download");
            for (language, size) in &self.lists.more_targets {
                row(ui, language, &format!("  ({size})"));
            }
        });
        super::translation::name(ui.ctx(), list.id, "To");
        let Some(to) = wanted else { return false };
        let from = self.picked.as_ref().and_then(|picked| picked.from.clone());
        let picked = Some(Picked { from, to });
        std::mem::replace(&mut self.picked, picked.clone()) != picked
    }

    /// Shows a download, or the models for a pair that none here translates.
    fn show_offer(&self, ui: &mut Ui, models: &Models, picks: &mut Picks) {
        if let Some(download) = &models.download {
            theme::card(ui).show(ui, |ui| {
                ui.set_width(ui.available_width());
                let (fraction, done, total) = download.progress();
                ui.label(format!("Fetching {}", download.names.join(" and ")));
                ui.add(ProgressBar::new(fraction).desired_height(8.0));
                ui.horizontal(|ui| {
                    picks.stop = ui.button("Stop").on_hover_text("What has arrived is kept").clicked();
                    let megabytes = |bytes: u64| bytes as f64 / 1e6;
                    let text = format!("{:.1} of {:.1} MB", megabytes(done), megabytes(total));
                    ui.label(RichText::new(text).weak());
                });
            });
            return;
        }
        let Some([from, to]) = self.pair() else { return };
        if !models.listed || models.way(&from, &to).is_some() || from.fits(&to) {
            return;
        }
        theme::card(ui).show(ui, |ui| {
            ui.set_width(ui.available_width());
            let pair = format!("{} to {}", from.name(), to.name());
            if self.lists.offers.is_empty() {
                ui.label(format!("No model for {pair} is known. Open the folder of one."));
                return;
            }
            let these = match self.lists.offers.len() {
                1 => "This one can be downloaded",
                _ => "These can be downloaded, to translate through English",
            };
            ui.label(format!("No model here translates {pair}. {these}:"));
            for offer in &self.lists.offers {
                let score = offer.score.as_ref();
                let score = score.map(|score| format!(", BLEU {} on {}", score.bleu, score.test));
                let text = format!(
                    "{}: {}, {}{}",
                    offer.name,
                    offer.size(),
                    offer.licence,
                    score.unwrap_or_default()
                );
                ui.label(RichText::new(text).weak()).on_hover_text(&offer.source);
            }
            let bytes = self.lists.offers.iter().map(|offer| offer.bytes).sum();
            if ui.button(format!("Get it ({})", about(bytes))).clicked() {
                picks.get = self.lists.offers.iter().map(|offer| offer.name.clone()).collect();
            }
        });
    }

    /// Shows the models on this machine.
    pub fn show_models(ui: &mut Ui, models: &Models, picks: &mut Picks) {
        let cached = models.cached();
        if cached.is_empty() {
            return;
        }
        ui.collapsing(format!("Models on this machine ({})", cached.len()), |ui| {
            ScrollArea::vertical().id_salt("models").max_height(180.0).show(ui, |ui| {
                for model in cached {
                    ui.horizontal_wrapped(|ui| {
                        ui.label(&model.name);
                        let licence = model.licence.as_deref().unwrap_or("licence not stated");
                        let text = format!("{}, {licence}", about(model.bytes).trim_start_matches("about "));
                        ui.label(RichText::new(text).weak());
                        if ui.small_button("Remove").clicked() {
                            picks.remove = Some(model.name.clone());
                        }
                    });
                }
                theme::follow_focus(ui);
            });
        });
    }
}

fn heading(ui: &mut Ui, text: &str) {
    ui.separator();
    ui.label(RichText::new(text).small().weak());
}

/// The licences of offers, each once.
fn licences(offers: &[&Offer]) -> String {
    let mut licences: Vec<&str> = offers.iter().map(|offer| &*offer.licence).collect();
    licences.dedup();
    licences.join(", ")
}

#[cfg(all(test, feature = "embedded-models"))]
mod tests {
    use eframe::egui::{Context, Vec2};
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable;

    use super::*;

    fn shown(from: Option<&str>, to: &str) -> Harness<'static, (Languages, Models, Picks)> {
        let models = Models::new(None, Context::default());
        let mut languages = Languages::of_codes(from.or(Some("auto")), Some(to));
        languages.refresh(&models);
        Harness::builder().with_size(Vec2::new(420.0, 900.0)).build_ui_state(
            |ui, (languages, models, picks)| {
                let now = languages.show(ui, models);
                if now.changed || !now.get.is_empty() {
                    *picks = now;
                }
            },
            (languages, models, Picks::default()),
        )
    }

    #[test]
    fn a_pair_without_a_model_is_offered_and_had_with_one_click() {
        let mut window = shown(Some("en"), "pt");
        window.run();
        window.get_by_label_contains("firefox:en-pt: about 26 MB, MPL-2.0, BLEU 50");
        window.get_by_label_contains("Get it").click();
        window.run();
        assert_eq!(window.state().2.get, ["firefox:en-pt"]);
    }

    #[test]
    fn the_pairs_of_built_in_models_need_nothing_and_can_be_swapped() {
        let mut window = shown(Some("en"), "de");
        window.run();
        assert!(window.query_by_label_contains("Get it").is_none());
        window.get_by_label("Swap languages").click();
        window.run();
        let (languages, _, picks) = window.state();
        assert!(picks.swapped && picks.changed);
        assert_eq!(languages.codes(), ["de", "en"].map(|code| Some(code.to_owned())));
        assert!(window.query_by_label_contains("No model here").is_none());
    }

    #[test]
    fn a_language_of_the_list_is_picked() {
        let mut window = shown(Some("en"), "de");
        window.run();
        window.get_by_label("To").click();
        window.run();
        window.get_by_label_contains("Portuguese  (about 26 MB, MPL-2.0)").click_accesskit(); // it may lie below the visible part of the list
        window.run();
        assert_eq!(window.state().0.codes()[1].as_deref(), Some("pt"));
        assert!(window.state().2.changed);
    }

    #[test]
    fn a_detected_language_makes_the_pair() {
        let mut window = shown(None, "de");
        let (languages, models, _) = window.state_mut();
        assert_eq!(languages.pair(), None);
        languages.look_at("Where is the train station?", models);
        assert_eq!(languages.pair().map(|pair| pair[0].to_string()).as_deref(), Some("en"));
        languages.look_at("Hotel", models); // a word says nothing
        assert_eq!(languages.pair().map(|pair| pair[0].to_string()).as_deref(), Some("en"));
        window.run();
        assert_eq!(window.state().0.codes(), ["auto", "de"].map(|code| Some(code.to_owned())));
    }
}
