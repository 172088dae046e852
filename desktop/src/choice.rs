//! A choice of one of several, with its name before it.

use eframe::egui::{ComboBox, TextStyle, Ui};

use crate::row;

/// Height of a list, in points.
const HEIGHT: f32 = 320.0;

/// Shows `name`, then a list of choices that `items` fills. Its button has the text `shown` and, if `width` is given, at least that
/// width in points.
pub fn show(ui: &mut Ui, name: &str, shown: &str, width: Option<f32>, items: impl FnOnce(&mut Ui)) {
    let (spacing, width) = (ui.spacing().clone(), width.unwrap_or(ui.spacing().combo_width));
    let [name_length, shown_length] = [name, shown].map(|text| row::length(ui, text, TextStyle::Button));
    let button = shown_length + spacing.icon_spacing + spacing.icon_width + 2.0 * spacing.button_padding.x;
    row::keep_together(ui, name_length + spacing.item_spacing.x + button.max(width));
    ui.horizontal(|ui| {
        let label = ui.label(name);
        let list = ComboBox::from_id_salt(name).selected_text(shown).width(width).height(HEIGHT);
        list.show_ui(ui, items).response.labelled_by(label.id);
    });
}
