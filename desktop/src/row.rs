//! Rows that wrap.

use eframe::egui::{TextStyle, TextWrapMode, Ui, WidgetText};

/// Width of a text in one line, in points.
pub fn length(ui: &Ui, text: &str, style: TextStyle) -> f32 {
    let text = WidgetText::from(text);
    text.into_galley(ui, Some(TextWrapMode::Extend), f32::INFINITY, style).size().x
}

/// Begins a new row, if the current one wraps and has less than `width` points left.
pub fn keep_together(ui: &mut Ui, width: f32) {
    if ui.layout().main_wrap && ui.available_size_before_wrap().x < width {
        ui.end_row();
    }
}
