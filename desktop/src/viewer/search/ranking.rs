//! Finished hypotheses, best first, under a length penalty that the user can change. Changing it ranks the hypotheses anew
//! and does not search again.

use eframe::egui::{Button, Label, RichText, ScrollArea, Slider, Ui, vec2};
use wordloom::readable::counted;

use super::found::Found;
use crate::texts::{shortened, signed};
use crate::theme;

/// The largest number of letters in a hypothesis' line, and in its tooltip.
const LONGEST: [usize; 2] = [300, 1500];

pub fn show_penalty(ui: &mut Ui, penalty: &mut Option<f32>, of_search: f32) {
    let mut shown = penalty.unwrap_or(of_search);
    let slider = Slider::new(&mut shown, -1.0..=3.0).step_by(0.1).fixed_decimals(1).text("length penalty");
    let explained = "Hypotheses of n tokens are ranked by the sum of their log-probabilities over n to this power: \
                     a larger one favours long translations. What was found is ranked anew, and not searched again.";
    if ui.add(slider).on_hover_text(explained).changed() {
        *penalty = Some(shown);
    }
    if penalty.is_some_and(|penalty| penalty != of_search)
        && ui.button(format!("As the search: {}", signed(of_search, 1))).clicked()
    {
        *penalty = None;
    }
}

/// Shows the list. Returns the chosen hypothesis.
pub fn show(ui: &mut Ui, found: &mut Found, ranked: &[usize], penalty: f32, scrolls: bool) -> Option<usize> {
    ui.label(RichText::new(format!("{}, best first", counted(ranked.len(), "finished hypothesis"))).weak());
    let mut chosen = None;
    let height = ui.spacing().interact_size.y;
    let room = if scrolls { 240.0 } else { ui.available_height().max(60.0) };
    let area = ScrollArea::vertical().id_salt("hypotheses").max_height(room).auto_shrink([false, true]);
    area.show_rows(ui, height, ranked.len(), |ui, rows| {
        for rank in rows {
            let node = ranked[rank];
            let (step, score) = {
                let node = &found.search.tree.nodes[node];
                (node.step as usize, node.score(penalty))
            };
            ui.horizontal(|ui| {
                let color = if rank == 0 { theme::accent(ui) } else { ui.visuals().weak_text_color() };
                let score = RichText::new(signed(score, 2)).monospace().color(color);
                ui.add_sized(vec2(48.0, height), Label::new(score));
                let tokens = RichText::new(counted(step, "token")).small().weak();
                ui.add_sized(vec2(62.0, height), Label::new(tokens));
                let text = found.text(node);
                let line = RichText::new(shortened(text, LONGEST[0]));
                let line = if rank == 0 { line.strong() } else { line };
                let line = ui.add(Button::new(line).frame_when_inactive(false).truncate());
                let whole = shortened(text, LONGEST[1]);
                if line.on_hover_text(whole).clicked() {
                    chosen = Some(node);
                }
            });
        }
    });
    chosen
}
