//! Files and folders that are dropped on the window.

use std::path::PathBuf;

use eframe::egui::{Align2, Color32, Context, FontId, Id, LayerId, Order, StrokeKind, vec2};

/// The paths that were dropped in this frame.
pub fn dropped(window: &Context) -> Vec<PathBuf> {
    window.input(|input| input.raw.dropped_files.iter().map(|file| file.path().to_owned()).collect())
}

/// Shows what can be dropped, while a file is held over the window.
pub fn show(window: &Context) {
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
        StrokeKind::Inside,
    );
}
