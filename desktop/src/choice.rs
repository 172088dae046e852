//! A choice of one of several, with its name before it.

use eframe::egui::{ComboBox, Key, Response, TextStyle, Ui};

use crate::row;
use crate::theme;

/// Height of a list, in points.
const HEIGHT: f32 = 320.0;

/// Shows `name`, then a list of choices that `items` fills. Its button has the text `shown` and, if `width` is given, at least that
/// width in points.
pub fn show(ui: &mut Ui, name: &str, shown: &str, width: Option<f32>, items: impl FnOnce(&mut Ui)) {
    row::keep_together(ui, length(ui, name, shown, width));
    let width = width.unwrap_or(ui.spacing().combo_width);
    ui.horizontal(|ui| {
        let label = ui.label(name);
        let choice = ComboBox::from_id_salt(name).selected_text(shown).width(width).height(HEIGHT);
        list(ui, choice, items).labelled_by(label.id);
    });
}

/// Width of a choice with its name, in points.
pub fn length(ui: &Ui, name: &str, shown: &str, width: Option<f32>) -> f32 {
    let spacing = ui.spacing();
    let [name, shown] = [name, shown].map(|text| row::length(ui, text, TextStyle::Button));
    let button = shown + spacing.icon_spacing + spacing.icon_width + 2.0 * spacing.button_padding.x;
    name + spacing.item_spacing.x + button.max(width.unwrap_or(spacing.combo_width))
}

/// Shows a list that `items` fills, and returns its button. An item chosen by a key closes the list, as one that is clicked does,
/// and the button has the keyboard again.
pub fn list(ui: &mut Ui, list: ComboBox<'_>, items: impl FnOnce(&mut Ui)) -> Response {
    let pressed = |ui: &Ui, keys: &[Key]| ui.input(|input| keys.iter().any(|&key| input.key_pressed(key)));
    let shown = list.show_ui(ui, |ui| {
        items(ui);
        let focused = ui.memory(|memory| memory.focused()).and_then(|id| ui.ctx().read_response(id));
        let here = focused.is_some_and(|item| item.layer_id == ui.layer_id());
        if here && pressed(ui, &[Key::Enter, Key::Space]) {
            ui.close();
        }
        theme::follow_focus(ui);
    });
    let button = shown.response;
    let closed = shown.inner.is_some() && !ComboBox::is_open(ui.ctx(), button.id);
    if closed && pressed(ui, &[Key::Enter, Key::Space, Key::Escape]) {
        button.request_focus();
    }
    button
}

#[cfg(test)]
mod tests {
    use eframe::egui::accesskit::Role;
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable;

    use super::*;

    fn press(window: &mut Harness<'_, u32>, keys: &[Key]) {
        for &key in keys {
            window.key_press(key);
            window.run();
        }
    }

    #[test]
    fn keys_choose_from_a_list_close_it_and_stay_at_its_button() {
        let mut window = Harness::new_ui_state(
            |ui, chosen| {
                show(ui, "beams", &chosen.to_string(), None, |ui| {
                    for count in [1, 2, 4] {
                        ui.selectable_value(chosen, count, format!("{count} of them"));
                    }
                });
            },
            4,
        );
        press(&mut window, &[Key::Tab, Key::Enter]);
        window.get_by_label("2 of them");
        press(&mut window, &[Key::ArrowDown, Key::ArrowDown, Key::Enter]);
        assert_eq!(*window.state(), 2);
        for leave in [Key::Enter, Key::Escape] {
            assert!(window.query_by_label("2 of them").is_none(), "the list is open");
            let button = window.get_by_role_and_label(Role::ComboBox, "beams");
            assert!(button.is_focused(), "the keyboard is elsewhere");
            press(&mut window, &[Key::Enter, Key::ArrowDown, Key::ArrowDown, leave]);
        }
        assert_eq!(*window.state(), 2);
    }

    #[test]
    fn a_long_list_shows_the_item_that_keys_reach() {
        let mut window = Harness::new_ui_state(
            |ui, chosen| {
                show(ui, "beams", &chosen.to_string(), None, |ui| {
                    for count in 0..60 {
                        ui.selectable_value(chosen, count, format!("item {count}"));
                    }
                });
            },
            0,
        );
        press(&mut window, &[Key::Tab, Key::Enter]);
        press(&mut window, &[Key::ArrowDown; 40]);
        let item = window.get_by_label("item 39");
        assert!(item.is_focused());
        let button = window.get_by_role_and_label(Role::ComboBox, "beams").rect();
        let list = button.bottom() + HEIGHT + 10.0; // with its margin
        assert!(item.rect().bottom() < list, "{:?} is below the list, which ends at {list}", item.rect());
    }
}
