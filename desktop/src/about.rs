//! The box that says what Wordloom is, and what it is made of.

use eframe::egui::{Context, Frame, Id, Label, Modal, RichText, ScrollArea, TextStyle, Ui, Vec2};

/// Greatest size of the box, in points.
const SIZE: Vec2 = Vec2::new(720.0, 560.0);
/// Room that the box leaves around itself in a small window, in points.
const AROUND: f32 = 80.0;

/// The box, and the licences while it is open.
#[derive(Default)]
pub struct About(Option<Licences>);

/// The licences of everything that Wordloom has from others, in lines that fit the box.
struct Licences {
    text: String,
    lines: Vec<String>,
    /// Width for which the lines were broken, in points; 0 before.
    width: f32,
}

impl About {
    pub fn open(&mut self) {
        self.0 = Some(Licences { text: wordloom_licences::text(), lines: Vec::new(), width: 0.0 });
    }

    /// Shows the box, if it is open. The button, Escape and a click beside it close it.
    pub fn show(&mut self, window: &Context) {
        let Some(licences) = &mut self.0 else { return };
        let new = licences.lines.is_empty();
        let room = window.content_rect().size() - Vec2::splat(AROUND);
        let frame = Frame::popup(&window.global_style()).inner_margin(16);
        let modal = Modal::new(Id::unique("about")).frame(frame).show(window, |ui| {
            ui.set_width(SIZE.x.min(room.x));
            ui.set_height(SIZE.y.min(room.y));
            ui.heading(concat!("Wordloom ", env!("CARGO_PKG_VERSION")));
            ui.label("Translates on this machine, and shows how. No text leaves it.");
            ui.label(concat!("Licence: ", env!("CARGO_PKG_LICENSE"), ", as you choose."));
            ui.add_space(ui.spacing().item_spacing.y);
            ui.label("What Wordloom has from others:");
            let buttons = ui.spacing().interact_size.y + ui.spacing().item_spacing.y;
            let height = (ui.max_rect().bottom() - ui.cursor().top() - buttons).max(2.0 * buttons);
            ui.scope(|ui| licences.show(ui, height));
            ui.horizontal(|ui| {
                let close = ui.button("Close");
                if new {
                    close.request_focus();
                }
                if ui.button("Copy the licences").clicked() {
                    window.copy_text(licences.text.clone());
                }
                close.clicked()
            })
            .inner
        });
        if modal.inner || modal.should_close() {
            self.0 = None;
        }
    }
}

impl Licences {
    fn show(&mut self, ui: &mut Ui, height: f32) {
        let row = ui.text_style_height(&TextStyle::Small);
        let area = ScrollArea::vertical().id_salt("licences").max_height(height).min_scrolled_height(height);
        ui.spacing_mut().item_spacing.y = 0.0;
        let width = ui.available_width() - ui.spacing().scroll.allocated_width();
        self.wrap(ui, width);
        area.auto_shrink(false).show_rows(ui, row, self.lines.len(), |ui, shown| {
            for line in &self.lines[shown] {
                ui.add(Label::new(RichText::new(line).small()).extend());
            }
        });
    }

    /// Breaks the lines anew if the width is another one: only rows of one height can be drawn alone.
    fn wrap(&mut self, ui: &Ui, width: f32) {
        if self.width == width {
            return;
        }
        let font = TextStyle::Small.resolve(ui.style());
        let galley = ui.painter().layout(self.text.clone(), font, ui.visuals().text_color(), width);
        self.lines = galley.rows.iter().map(|row| row.text()).collect();
        self.width = width;
    }
}

#[cfg(test)]
mod tests {
    use eframe::egui::Key;
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable;

    use super::*;

    fn opened<'a>(size: Vec2) -> Harness<'a, About> {
        let show = |ui: &mut Ui, about: &mut About| about.show(ui.ctx());
        let mut about = About::default();
        about.open();
        let mut harness = Harness::builder().with_size(size).build_ui_state(show, about);
        harness.run();
        harness
    }

    #[test]
    fn it_names_the_version_and_every_licence_and_closes() {
        for size in [Vec2::new(1180.0, 800.0), Vec2::new(360.0, 420.0)] {
            let mut harness = opened(size);
            let heading = format!("Wordloom {}", env!("CARGO_PKG_VERSION"));
            assert!(harness.query_by_label(&heading).is_some());
            let Some(licences) = &harness.state().0 else { panic!("it closed itself") };
            let letters = |text: &str| text.split_whitespace().collect::<String>();
            let shown = licences.lines.concat();
            assert!(letters(&shown) == letters(&licences.text), "something is lost between lines");
            let screen = eframe::egui::Rect::from_min_size(Default::default(), size);
            assert!(
                screen.contains_rect(harness.get_by_label("Close").rect()),
                "the button is in the window"
            );
            harness.get_by_label("Close").click();
            harness.run();
            assert!(harness.state().0.is_none());
        }
    }

    #[test]
    fn escape_closes_it() {
        let mut harness = opened(Vec2::new(800.0, 600.0));
        harness.key_press(Key::Escape);
        harness.run();
        assert!(harness.state().0.is_none() && harness.query_by_label("Close").is_none());
    }
}
