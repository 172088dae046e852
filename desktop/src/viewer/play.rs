//! Playback of a translation: the rows of its maps, one after the other.

use eframe::egui::{Slider, Ui};

/// Rows per second.
const SPEED: f32 = 5.0;

#[derive(Default)]
pub struct Play {
    /// Number of shown rows; `None` for all.
    rows: Option<f32>,
    playing: bool,
}

impl Play {
    /// Shows everything again.
    pub fn stop(&mut self) {
        *self = Self::default();
    }

    /// Number of shown rows out of `all`.
    pub fn rows(&self, all: usize) -> u32 {
        self.rows.map_or(u32::MAX, |rows| (rows as u32).clamp(1, all.max(1) as u32))
    }

    pub fn show(&mut self, ui: &mut Ui, all: usize) {
        if self.playing {
            let seconds = ui.input(|input| input.stable_dt).min(0.1);
            let rows = self.rows.unwrap_or(1.0) + SPEED * seconds;
            self.rows = Some(rows);
            if rows as usize > all {
                self.stop();
            }
            ui.ctx().request_repaint();
        }
        let name = if self.playing { "Pause" } else { "Play" };
        if ui.button(name).on_hover_text("Row after row, as they were made").clicked() {
            self.playing = !self.playing;
            if self.playing {
                self.rows.get_or_insert(1.0);
            }
        }
        let mut shown = (self.rows(all) as usize).min(all);
        let slider = Slider::new(&mut shown, 1..=all.max(1)).text("rows");
        if ui.add_enabled(all > 1, slider).changed() {
            self.playing = false;
            self.rows = (shown < all).then_some(shown as f32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_rest_everything_is_shown_and_while_playing_at_least_a_row() {
        assert_eq!(Play::default().rows(7), u32::MAX);
        let play = Play { rows: Some(0.3), playing: true };
        assert_eq!(play.rows(7), 1);
        assert_eq!(Play { rows: Some(99.0), ..play }.rows(7), 7);
    }
}
