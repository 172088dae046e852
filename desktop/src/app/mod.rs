//! The window: its layout, and the messages between its parts.

mod actions;
mod events;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use eframe::egui::{
    CentralPanel, Context, Frame, Margin, Panel, ScrollArea, Ui, ViewportBuilder, ViewportCommand,
};
use eframe::{CreationContext, NativeOptions, Storage};
use wordloom::DeviceChoice;
use wordloom_hub::{Hub, Place};

use crate::about::About;
use crate::check::Check;
use crate::document::Document;
use crate::engine::{self, Engine, Request, Way};
use crate::files::{Files, Kind, kind};
use crate::gallery::Gallery;
use crate::languages::{self, Languages, Picks};
use crate::models::Models;
use crate::muting::Muting;
use crate::notices::Notices;
use crate::remembered::Remembered;
use crate::terms::Terms;
use crate::texts::shortened;
use crate::translation::{Actions, Picker, Shown, Translation};
use crate::viewer::{Requests, Viewer};
use crate::{device, dropping, theme};

/// The window's name for the system, and the name of its state folder.
const APP_ID: &str = "wordloom";
/// Below this width in points, the halves are stacked.
const NARROW: f32 = 820.0;
/// Below this height in points, the window scrolls.
const LOW: f32 = 520.0;
/// Pause between the last key and the translation.
const PAUSE: Duration = Duration::from_millis(150);

/// Opens the window; returns when it is closed.
///
/// # Errors
/// There is no screen, or no graphics driver.
pub fn open(path: Option<PathBuf>, choice: DeviceChoice, state: Option<PathBuf>) -> eframe::Result {
    let viewport = ViewportBuilder::default()
        .with_app_id(APP_ID)
        .with_title("Wordloom")
        .with_inner_size([1180.0, 800.0])
        .with_min_inner_size([360.0, 420.0]);
    let obstacle = Remembered::obstacle(state.as_deref(), APP_ID);
    let options = NativeOptions {
        viewport,
        wgpu_options: device::configuration(&choice),
        persistence_path: state,
        ..NativeOptions::default()
    };
    eframe::run_native(
        APP_ID,
        options,
        Box::new(move |context| {
            let mut app = App::new(context, path, &choice)?;
            obstacle.into_iter().for_each(|obstacle| app.notices.add(obstacle, true));
            Ok(Box::new(app))
        }),
    )
}

pub struct App {
    engine: Engine,
    gallery: Gallery,
    files: Files,
    translation: Translation,
    viewer: Viewer,
    muting: Muting,
    languages: Languages,
    models: Models,
    /// The current or requested models; `None` before the first.
    way: Option<Way>,
    /// Whether no model here translates the picked pair.
    lacks: bool,
    notices: Notices,
    about: About,
    number: u64,
    /// The text that is being translated by the model as it was trained.
    plain: Option<String>,
    /// A document that waits for a model.
    waiting: Option<PathBuf>,
    /// Time of the next translation, unless the text changes before.
    due: Option<Instant>,
    title: String,
}

impl App {
    /// Makes the window's content.
    ///
    /// # Errors
    /// The device cannot be used, or a thread cannot be started.
    pub fn new(
        context: &CreationContext<'_>,
        path: Option<PathBuf>,
        choice: &DeviceChoice,
    ) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let window = &context.egui_ctx;
        theme::apply(window);
        let drawing = context.wgpu_render_state.as_ref();
        let device = device::of_window(choice, drawing)?;
        let remembered = Remembered::read(context.storage);
        let (hub, no_hub) = match Hub::from_environment() {
            Ok(hub) => (Some(hub), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let machine = [Some(device.notice(choice)), device::drawn_by(drawing)];
        let mut app = Self {
            engine: Engine::start(device.clone(), window.clone())?,
            gallery: Gallery::open(&device, window.clone())?,
            files: Files::new(window.clone()),
            viewer: Viewer::new(remembered.kind(), remembered.scale(), remembered.colours()),
            translation: Translation {
                text: remembered.text,
                beams: remembered.beams,
                terms: Terms::new(remembered.glossary),
                source_language: remembered.source_language,
                target_language: remembered.target_language,
                shown: Shown::default(),
                model: Default::default(),
                loading: Some(0.0),
                progress: None,
                document: Document::None,
                machine: machine.into_iter().flatten().collect(),
                check: Check::new(device.gpu().is_some()),
            },
            muting: Muting::default(),
            languages: Languages::of_codes(remembered.from.as_deref(), remembered.to.as_deref()),
            models: Models::new(hub, window.clone()),
            way: None,
            lacks: false,
            notices: Notices::default(),
            about: About::default(),
            number: 0,
            plain: None,
            waiting: None,
            due: None,
            title: String::new(),
        };
        match path.as_deref().map(kind) {
            Some(Kind::Model(folder)) => app.open_model(Place::Folder(folder)),
            Some(Kind::Trace(file)) => app.files.read_trace(file),
            Some(Kind::Document(file)) => app.waiting = Some(file),
            None => {}
        }
        if let Some(folder) = remembered.model.filter(|_| app.way.is_none()) {
            app.open_model(Place::Folder(folder));
        }
        if app.way.is_none() && app.languages.picked.is_none() {
            app.languages.picked = languages::built_in(&Place::default());
        }
        app.languages.refresh(&app.models);
        if app.models.listed && app.way.is_none() {
            app.choose_models();
        }
        no_hub.into_iter().for_each(|error| app.notices.add(error, true));
        Ok(app)
    }

    /// Opens a model. The picker then shows the pair of a built-in one, or nothing.
    fn open_model(&mut self, place: Place) {
        self.languages.picked = languages::built_in(&place);
        self.languages.refresh(&self.models);
        self.open(Way { languages: self.languages.pair(), ..Way::of(place) });
    }

    fn open(&mut self, way: Way) {
        self.lacks = false;
        self.translation.loading = Some(0.0);
        self.viewer.set_out_of_date();
        self.way = Some(way.clone());
        self.engine.open(way);
    }

    /// Opens the models of the picked languages, unless they are open.
    fn choose_models(&mut self) {
        self.languages.look_at(&self.translation.text, &self.models);
        let Some([from, to]) = self.languages.pair() else {
            // nothing is detected yet: any model may wait
            if self.way.is_none() && self.models.listed {
                self.open(Way::default());
            }
            return;
        };
        match self.models.way(&from, &to) {
            Some(way) if self.way.as_ref() == Some(&way) => self.lacks = false,
            Some(way) => self.open(way),
            None => {
                self.lacks = self.models.listed;
                self.translation.loading = None; // nothing is being read
            }
        }
        self.due = Some(Instant::now());
    }

    fn open_path(&mut self, path: &Path) {
        match kind(path) {
            Kind::Model(folder) => self.open_model(Place::Folder(folder)),
            Kind::Trace(file) => self.files.read_trace(file),
            Kind::Document(file) => self.translate_document(file),
        }
    }

    /// Translates a document, as soon as there is a model.
    fn translate_document(&mut self, path: PathBuf) {
        if self.translation.loading.is_some() {
            self.waiting = Some(path);
            return;
        }
        if self.lacks {
            return self.notices.add("No model here translates these languages.".into(), true);
        }
        if let Some(given_up) = self.translation.document.begin(&path) {
            self.notices.add(given_up, false);
        }
        let glossary = self.translation.terms.glossary();
        self.engine.translate_document(engine::Order { path, options: self.translation.options(), glossary });
    }

    /// Translates when it is due.
    fn translate(&mut self, window: &Context) {
        let Some(due) = self.due else { return };
        let now = Instant::now();
        if due > now {
            return window.request_repaint_after(due - now);
        }
        if self.translation.loading.is_some() {
            return; // the end of loading starts it
        }
        self.due = None;
        let before = self.way.clone();
        if self.languages.picked.as_ref().is_some_and(|picked| picked.from.is_none()) {
            self.choose_models(); // another language may have been detected
            self.due = None;
            if self.way != before {
                return; // the end of loading starts it
            }
        }
        if self.translation.model.name.is_empty() && !self.lacks {
            return; // there is no model
        }
        self.number += 1;
        let translation = &mut self.translation;
        translation.progress = None;
        if translation.text.trim().is_empty() || self.lacks {
            self.engine.cancel();
            translation.shown = Shown::Nothing;
            self.viewer.clear_live(); // it is of a text that is gone
            return;
        }
        translation.shown = Shown::Waiting(translation.shown.text().to_owned());
        let options = translation.options().n_best(translation.beams.min(4));
        let text = translation.text.clone();
        self.plain = self.muting.is_empty().then(|| text.clone());
        let glossary = translation.terms.glossary();
        self.engine.translate(Request { number: self.number, text, options, glossary });
    }

    /// Shows the beginning of the translation as the window's title, for the taskbar.
    fn set_title(&mut self, window: &Context) {
        let title = match &self.translation.shown {
            Shown::Finished(_) if !self.viewer.shows_file() => {
                let line = shortened(self.translation.shown.text().trim(), 60);
                if line.is_empty() { "Wordloom".into() } else { format!("{line} – Wordloom") }
            }
            Shown::Nothing => "Wordloom".into(),
            _ => return,
        };
        if title != self.title {
            window.send_viewport_cmd(ViewportCommand::Title(title.clone()));
            self.title = title;
        }
    }

    fn show_viewer(&mut self, ui: &mut Ui) -> Requests {
        ui.horizontal_wrapped(|ui| {
            ui.heading(self.viewer.heading());
            if ui.button("Open a trace…").on_hover_text("A file of “Save trace”; or drop it here").clicked()
            {
                self.files.choose_trace();
            }
            if self.files.is_busy() {
                ui.spinner();
            }
        });
        self.viewer.show(ui, &self.gallery, &mut self.files, &self.muting)
    }
}

impl eframe::App for App {
    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        let window = ui.ctx().clone();
        self.handle_events(&window);
        let read = [&*self.translation.text, self.translation.shown.text()];
        let drawn = self.viewer.texts();
        self.notices.look_for_letters(&window, read.into_iter().chain(drawn.iter().map(String::as_str)));
        let frame = Frame::new().fill(ui.visuals().panel_fill).inner_margin(Margin::symmetric(16, 12));
        if !self.notices.is_empty() {
            Panel::top("notices").frame(frame).show(ui, |ui| self.notices.show(ui));
        }
        let narrow = ui.available_width() < NARROW;
        let width = ui.available_width();
        let height = ui.available_height();
        let panel = match narrow {
            false => {
                Panel::left("translation").default_size(400.0).size_range(280.0..=(width * 0.6).max(280.0))
            }
            true => {
                Panel::top("translation above").default_size(height * 0.5).size_range(160.0..=height * 0.7)
            }
        };
        let mut actions = Actions::default();
        let mut picker =
            Picker { languages: &mut self.languages, models: &self.models, picks: Picks::default() };
        panel.resizable(true).frame(frame).show(ui, |ui| {
            actions = self.translation.show(ui, &self.muting, &mut picker);
        });
        let picks = picker.picks;
        self.viewer.scrolls = narrow || height < LOW;
        let viewer = CentralPanel::default().frame(frame).show(ui, |ui| match self.viewer.scrolls {
            true => {
                let area = ScrollArea::vertical().auto_shrink(false);
                area.show(ui, |ui| {
                    let requests = self.show_viewer(ui);
                    theme::follow_focus(ui);
                    requests
                })
                .inner
            }
            false => self.show_viewer(ui),
        });
        self.apply_actions(&window, &actions);
        self.apply_picks(picks);
        self.apply_requests(viewer.inner);
        self.translate(&window);
        self.set_title(&window);
        theme::show_focus(&window);
        self.about.show(&window);
        dropping::show(&window);
    }

    fn save(&mut self, storage: &mut dyn Storage) {
        let translation = &self.translation;
        let [from, to] = self.languages.codes();
        Remembered {
            text: translation.text.clone(),
            glossary: translation.terms.text.clone(),
            beams: translation.beams,
            model: match &self.way {
                Some(Way { last: Place::Folder(folder), .. }) if from.is_none() => Some(folder.clone()),
                _ => None,
            },
            from,
            to,
            source_language: translation.source_language.clone(),
            target_language: translation.target_language.clone(),
            kind: self.viewer.kind.to_string(),
            scale: self.viewer.scale.to_string(),
            colours: self.viewer.colours.to_string(),
        }
        .write(storage);
    }
}
