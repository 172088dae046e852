//! The window: its layout, and the messages between its parts.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use eframe::egui::{
    Align2, CentralPanel, Color32, Context, FontId, Frame, Id, LayerId, Margin, Order, Panel, RichText,
    ScrollArea, Ui, ViewportBuilder, ViewportCommand, vec2,
};
use eframe::{CreationContext, NativeOptions, Storage};
use wordloom::DeviceChoice;
use wordloom::trace::HeadName;
use wordloom_hub::{Hub, Place};

use crate::check::{Check, CheckAction};
use crate::document::{Document, DocumentAction};
use crate::engine::{Checked, DocumentNews, Engine, Exploration, News, Opened, Progress, Request, Way};
use crate::files::{Content, Done, Files, Kind, kind};
use crate::fonts::MissingLetters;
use crate::gallery::Gallery;
use crate::languages::{Languages, Picks};
use crate::models::{Models, Told};
use crate::muting::Muting;
use crate::remembered::Remembered;
use crate::swapping::Swapping;
use crate::switching::Switching;
use crate::terms::Terms;
use crate::texts::{one_line, shortened};
use crate::translation::{Actions, Picker, Shown, Translation};
use crate::viewer::{Question, Requests, Viewer};
use crate::{device, engine, languages, theme};

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
            obstacle.into_iter().for_each(|obstacle| app.notify(obstacle, true));
            Ok(Box::new(app))
        }),
    )
}

/// A message for the user.
struct Notice {
    text: String,
    warning: bool,
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
    notices: Vec<Notice>,
    missing: MissingLetters,
    missing_dismissed: Option<String>,
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
            notices: Vec::new(),
            missing: MissingLetters::default(),
            missing_dismissed: None,
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
        no_hub.into_iter().for_each(|error| app.notify(error, true));
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

    fn handle_models(&mut self) {
        for told in self.models.told() {
            match told {
                Told::Changed(text) => self.notify(text, false),
                Told::Failed(error) => self.notify(error, true),
                Told::Listed(_) | Told::Stopped => {}
            }
            self.languages.refresh(&self.models);
            if self.languages.picked.is_some() || self.way.is_none() {
                self.choose_models();
            }
        }
    }

    fn apply_picks(&mut self, picks: Picks) {
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

    fn open_path(&mut self, path: &std::path::Path) {
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
            return self.notify("No model here translates these languages.".into(), true);
        }
        if let Some(given_up) = self.translation.document.begin(&path) {
            self.notify(given_up, false);
        }
        let glossary = self.translation.terms.glossary();
        self.engine.translate_document(engine::Order { path, options: self.translation.options(), glossary });
    }

    fn notify(&mut self, text: String, warning: bool) {
        let text = shortened(&text, 600);
        self.notices.retain(|notice| notice.text != text);
        self.notices.push(Notice { text, warning });
        if self.notices.len() > 3 {
            self.notices.remove(0);
        }
    }

    /// Handles the events of the threads.
    fn handle_events(&mut self, window: &Context) {
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
                Done::Saved(path) => self.notify(format!("Saved: {}", path.display()), false),
                Done::Failed(error) => self.notify(error, true),
            }
        }
        let dropped = window.input(|input| input.raw.dropped_files.clone());
        if let Some(file) = dropped.first() {
            self.open_path(file.path());
        }
        if dropped.len() > 1 {
            self.notify("One thing at a time: the first of the dropped files was opened.".into(), false);
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
                    self.notify(format!("{error}{end} The built-in model is taken instead."), true);
                    self.open_model(Place::default());
                } else {
                    self.notify(error, true);
                    self.due = Some(Instant::now()); // opening cancelled the translation
                }
            }
            News::Muted { heads, error } => {
                self.muting.set(heads);
                if let Some(error) = error {
                    self.notify(error, true);
                }
            }
            News::NotSwapped(error) => {
                self.muting.swapping = self.muting.swapping.none();
                self.notify(error, true);
            }
            News::NotSwitched(error) => {
                self.muting.switching = self.muting.switching.none();
                self.notify(error, true);
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
                self.notify(error, true);
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
                self.notify(summary, !usable);
            }
            Err(error) => {
                self.translation.check = Check::Possible;
                self.notify(format!("The check could not be finished: {error}"), true);
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
                why.into_iter().for_each(|why| self.notify(why, true));
            }
        }
    }

    fn apply_actions(&mut self, window: &Context, actions: &Actions) {
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
    fn apply_requests(&mut self, requests: Requests) {
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

    fn show_notices(&mut self, ui: &mut Ui) {
        let letters = self.missing.notice().filter(|notice| self.missing_dismissed.as_ref() != Some(notice));
        if let Some(text) = letters
            && show_notice(ui, &Notice { text: text.clone(), warning: false })
        {
            self.missing_dismissed = Some(text);
        }
        let mut dismissed = None;
        for (index, notice) in self.notices.iter().enumerate() {
            if show_notice(ui, notice) {
                dismissed = Some(index);
            }
        }
        if let Some(index) = dismissed {
            self.notices.remove(index);
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
        self.missing.begin();
        self.missing.look_for(&window, &self.translation.text);
        self.missing.look_for(&window, self.translation.shown.text());
        for text in self.viewer.texts() {
            self.missing.look_for(&window, &text);
        }
        let frame = Frame::new().fill(ui.visuals().panel_fill).inner_margin(Margin::symmetric(16, 12));
        let notified = !self.notices.is_empty()
            || self.missing.notice().is_some_and(|notice| self.missing_dismissed.as_ref() != Some(&notice));
        if notified {
            Panel::top("notices").frame(frame).show(ui, |ui| self.show_notices(ui));
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
        show_drop(&window);
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

/// Shows a notice; returns whether the user dismissed it.
fn show_notice(ui: &mut Ui, notice: &Notice) -> bool {
    let color = if notice.warning { ui.visuals().warn_fg_color } else { ui.visuals().weak_text_color() };
    ui.horizontal_wrapped(|ui| {
        let dismissed = ui.button("OK").clicked();
        ui.label(RichText::new(one_line(&notice.text)).color(color));
        dismissed
    })
    .inner
}

/// Shows what can be dropped, while a file is held over the window.
fn show_drop(window: &Context) {
    if window.input(|input| input.raw.hovered_files.is_empty()) {
        return;
    }
    let painter = window.layer_painter(LayerId::new(Order::Foreground, Id::unique("drop")));
    let room = window.content_rect();
    painter.rect_filled(room, 0.0, Color32::from_black_alpha(170));
    let text = "Drop a document to translate, the folder of a model, or a trace";
    painter.text(room.center(), Align2::CENTER_CENTER, text, FontId::proportional(22.0), Color32::WHITE);
    painter.rect_stroke(
        room.shrink2(vec2(14.0, 14.0)),
        12.0,
        (2.0, Color32::from_white_alpha(150)),
        eframe::egui::StrokeKind::Inside,
    );
}
