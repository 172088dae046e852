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

/// Draws a line before what has `width` points; begins a new row instead, if the current one has too little left.
pub fn separate(ui: &mut Ui, width: f32) {
    /// Width of egui's separator.
    const LINE: f32 = 6.0;
    let needed = LINE + ui.spacing().item_spacing.x + width;
    if ui.layout().main_wrap && ui.available_size_before_wrap().x < needed {
        ui.end_row();
    } else {
        ui.separator();
    }
}
