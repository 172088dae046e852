//! Maps, and the line about the cell under the pointer.

use std::sync::Arc;

use eframe::egui::{Key, Label, RichText, Ui, vec2};
use wordloom::heatmap::Cell;
use wordloom::trace::{Trace, TracedSentence};

use super::choices::missing;
use super::{Place, Viewer, axes, canvas, head_name, sentence};
use crate::files::{Content, Files};
use crate::gallery::{self, Chosen, Gallery, Head};
use crate::muting::Muting;

impl Viewer {
    pub(super) fn show_maps(
        &mut self,
        ui: &mut Ui,
        trace: &Arc<Trace>,
        gallery: &Gallery,
        files: &mut Files,
        muting: &Muting,
    ) {
        let sentence = &trace.sentences[self.sentence];
        let one = if let Place::One(head) = self.place { Some(head) } else { None };
        let chosen = Chosen { sentence: self.sentence, kind: self.kind, one };
        let Some(shape) = gallery::shape(sentence, &chosen) else {
            let why = match one {
                Some(_) => "This head is not in this sentence.".to_owned(),
                None => missing(sentence, self.kind),
            };
            self.show_nothing(ui, &why);
            return;
        };
        let rows = self.play.rows(shape.queries);
        let (scale, colours) = (self.scale, self.colours);
        let subject = canvas::Subject { trace, chosen, shape, scale, colours, rows };
        ui.horizontal_wrapped(|ui| {
            self.play.show(ui, shape.queries);
            if ui.button("Fit").on_hover_text("The whole picture (key 0)").clicked() {
                self.canvas.reset();
            }
            if ui
                .button("Save trace…")
                .on_hover_text("All maps, to be opened again without the model")
                .clicked()
            {
                files.save(self.search.content(trace));
            }
            if ui.button("Save picture…").on_hover_text("These maps as a PNG file").clicked() {
                files.save(Content::Picture(Box::new(self.canvas.picture_to_save(&subject, ui))));
            }
        });
        let within = |cell: &Cell| cell.query < shape.queries && cell.key < shape.keys;
        self.show_readout(ui, &subject, self.at.filter(within), muting);
        let size = match self.scrolls {
            true => vec2(ui.available_width(), ui.available_width().clamp(260.0, 420.0)),
            false => ui.available_size().max(vec2(120.0, 120.0)),
        };
        let seen = self.canvas.show(ui, gallery, &subject, size, |ui, at, view| match one {
            Some(_) => axes::tokens(ui, at, view, sentence, self.kind),
            None => axes::maps(ui, at, view, sentence, self.kind, shape),
        });
        if self.at != seen.at {
            self.at = seen.at;
            ui.ctx().request_repaint();
        }
        match (one, seen.chosen) {
            (None, Some(cell)) => {
                if let Some(layer) = sentence.layers(self.kind).nth(cell.layer) {
                    self.go(Place::One(Head { layer: layer.layer, head: Some(cell.head) }));
                }
            }
            (Some(_), _)
                if seen.left || ui.input(|input| input.key_pressed(Key::Backspace)) && seen.focused =>
            {
                self.go(Place::All);
            }
            _ => {}
        }
    }

    /// Shows a line about the cell under the pointer, and the sentence with both tokens marked.
    fn show_readout(&self, ui: &mut Ui, subject: &canvas::Subject<'_>, at: Option<Cell>, muting: &Muting) {
        let canvas::Subject { trace, chosen, shape, .. } = subject;
        let sentence = &trace.sentences[chosen.sentence];
        let found = at.and_then(|cell| describe(sentence, chosen, cell));
        let text = match (&found, at) {
            (Some(found), Some(cell)) => {
                let head = match chosen.one {
                    Some(_) => String::new(),
                    None => {
                        let layer = sentence.layers(self.kind).nth(cell.layer).map_or(0, |layer| layer.layer);
                        let head = Head { layer, head: Some(cell.head) };
                        let label = self.numbers.label(self.kind, head);
                        let label = label.map_or_else(String::new, |label| format!(" ({label})"));
                        let muted = head_name(self.kind, head).is_some_and(|head| muting.has(head));
                        let label = if muted { format!("{label}, muted") } else { label };
                        format!("layer {}, head {}{label}: ", layer + 1, cell.head + 1)
                    }
                };
                format!("{head}“{}” attends to “{}” with {:.4}", found.query, found.key, found.weight)
            }
            _ if chosen.one.is_none() => format!(
                "{} layers of {} heads, {} × {} tokens. Click one to see it large; the wheel zooms, dragging moves.",
                shape.layers, shape.heads, shape.queries, shape.keys
            ),
            _ => "Each row is a token that attends, each column one that is attended to.".into(),
        };
        ui.add(Label::new(RichText::new(text).weak()).truncate());
        sentence::show(ui, sentence, self.kind, at.map(|cell| (cell.query, cell.key)));
    }
}

/// The tokens and weight of a cell.
struct Found {
    query: String,
    key: String,
    weight: f32,
}

fn describe(sentence: &TracedSentence, chosen: &Chosen, cell: Cell) -> Option<Found> {
    let (layer, head) = match chosen.one {
        Some(Head { layer, head }) => (sentence.layer(chosen.kind, layer)?, head),
        None => (sentence.layers(chosen.kind).nth(cell.layer)?, Some(cell.head)),
    };
    let at = |head: usize| {
        let there = head < layer.heads && cell.query < layer.queries && cell.key < layer.columns();
        there.then(|| layer.weight(head, cell.query, cell.key))
    };
    let weight = match head {
        Some(head) => at(head)?,
        None => (0..layer.heads).map(at).sum::<Option<f32>>()? / layer.heads as f32,
    };
    Some(Found {
        query: axes::label(sentence, chosen.kind, axes::Side::Query, cell.query)?,
        key: axes::label(sentence, chosen.kind, axes::Side::Key, cell.key)?,
        weight,
    })
}
