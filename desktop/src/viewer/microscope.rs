//! Every number of one attention, in the order of the paper: the steps of an [`Explanation`].

use std::sync::{Arc, Weak};

use eframe::egui::accesskit::Role;
use eframe::egui::{
    CollapsingHeader, Color32, Grid, ProgressBar, Rect, RichText, ScrollArea, Sense, Ui, WidgetInfo, pos2,
    vec2,
};
use wordloom::explain::{Explanation, Numbers, Step, StepKind, short_number};
use wordloom::trace::{AttentionKind, HeadName, Trace};

use crate::choice;
use crate::texts::shortened;
use crate::theme;

/// Tokens that are shown as buttons; more are a list.
const MOST_BUTTONS: usize = 60;
/// Width and height of a strip of values, in points.
const STRIP: [f32; 2] = [420.0, 14.0];
/// Width of a strip beside its key, in points.
const ROW: f32 = 240.0;
/// Width of a bar, in points.
const BAR: f32 = 180.0;
/// Rows of keys that are shown with their values.
const ROWS: usize = 24;

/// A question for the engine.
#[derive(Clone)]
pub struct Inquiry {
    pub number: u64,
    pub trace: Arc<Trace>,
    pub sentence: usize,
    pub head: HeadName,
    /// The row of the attention map.
    pub query: usize,
}

/// Where the numbers come from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The model that translated.
    Model,
    /// The taps of a trace from a file.
    Trace,
    /// The model that translated is not there.
    Nothing,
}

#[derive(Default)]
pub struct Microscope {
    layer: usize,
    head: usize,
    query: usize,
    /// What was asked last: trace, sentence, head, query.
    subject: Option<(Weak<Trace>, usize, HeadName, usize)>,
    /// Number of the last question.
    number: u64,
    answer: Option<Result<Box<Explanation>, String>>,
    /// Whether the answer to the last question is pending. The one before stays, in a paler colour.
    waiting: bool,
}

impl Microscope {
    /// Forgets answers, because the model has changed.
    pub fn forget(&mut self) {
        (self.subject, self.answer, self.waiting) = (None, None, false);
    }

    /// The answer to a question.
    pub fn set(&mut self, number: u64, answer: Result<Box<Explanation>, String>) {
        if number == self.number && self.waiting {
            (self.answer, self.waiting) = (Some(answer), false);
        }
    }

    /// Shows the choices and the steps. Returns the question whose answer is missing.
    pub fn show(
        &mut self,
        ui: &mut Ui,
        (trace, sentence): (&Arc<Trace>, usize),
        kind: AttentionKind,
        (source, scrolls): (Source, bool),
    ) -> Option<Inquiry> {
        if source == Source::Nothing {
            ui.label(
                RichText::new(
                    "The numbers come from the model that translated: write something, or wait for it.",
                )
                .weak(),
            );
            return None;
        }
        let shown = &trace.sentences[sentence];
        let layers: Vec<(usize, usize)> =
            shown.layers(kind).map(|layer| (layer.layer, layer.heads)).collect();
        let labels = shown.query_labels(kind);
        if layers.is_empty() || labels.is_empty() {
            ui.label(RichText::new("There is no such attention in this translation.").weak());
            return None;
        }
        self.show_choices(ui, &layers, &labels);
        let head = HeadName { kind, layer: self.layer, head: self.head };
        let same = self.subject.as_ref().is_some_and(|(of, at, asked, query)| {
            of.upgrade().is_some_and(|of| Arc::ptr_eq(&of, trace))
                && (*at, *asked, *query) == (sentence, head, self.query)
        });
        if source == Source::Trace && !same {
            let found = Explanation::of_trace(trace, sentence, head, self.query);
            self.answer = Some(found.map(Box::new).map_err(|error| error.to_string()));
            self.subject = Some((Arc::downgrade(trace), sentence, head, self.query));
            self.waiting = false;
        }
        let area = ScrollArea::vertical().id_salt("microscope").auto_shrink(false);
        match (scrolls, &self.answer) {
            (_, None) => _ = ui.label(RichText::new("One moment …").weak()),
            (true, Some(answer)) => show_answer(ui, answer, self.waiting),
            (false, Some(answer)) => {
                area.show(ui, |ui| {
                    show_answer(ui, answer, self.waiting);
                    theme::follow_focus(ui);
                });
            }
        }
        if same || source == Source::Trace {
            return None;
        }
        self.subject = Some((Arc::downgrade(trace), sentence, head, self.query));
        self.number += 1;
        self.waiting = true;
        let (number, query) = (self.number, self.query);
        Some(Inquiry { number, trace: trace.clone(), sentence, head, query })
    }

    fn show_choices(&mut self, ui: &mut Ui, layers: &[(usize, usize)], labels: &[String]) {
        if !layers.iter().any(|(layer, _)| *layer == self.layer) {
            self.layer = layers[0].0;
        }
        let heads = layers.iter().find(|(layer, _)| *layer == self.layer).map_or(1, |(_, heads)| *heads);
        self.head = self.head.min(heads - 1);
        self.query = self.query.min(labels.len() - 1);
        ui.horizontal_wrapped(|ui| {
            choice::show(ui, "layer", &(self.layer + 1).to_string(), None, |ui| {
                for (layer, _) in layers {
                    ui.selectable_value(&mut self.layer, *layer, (layer + 1).to_string());
                }
            });
            choice::show(ui, "head", &(self.head + 1).to_string(), None, |ui| {
                for head in 0..heads {
                    ui.selectable_value(&mut self.head, head, (head + 1).to_string());
                }
            });
            if labels.len() > MOST_BUTTONS {
                let name = |index: usize| format!("{}. {}", index + 1, shortened(&labels[index], 30));
                choice::show(ui, "token", &name(self.query), None, |ui| {
                    for index in 0..labels.len() {
                        ui.selectable_value(&mut self.query, index, name(index));
                    }
                });
            }
        });
        if labels.len() <= MOST_BUTTONS {
            ui.horizontal_wrapped(|ui| {
                for (index, label) in labels.iter().enumerate() {
                    ui.selectable_value(&mut self.query, index, shortened(label, 30));
                }
            });
        }
    }
}

fn show_answer(ui: &mut Ui, answer: &Result<Box<Explanation>, String>, old: bool) {
    if old {
        ui.set_opacity(0.6);
    }
    match answer {
        Err(error) => _ = ui.label(RichText::new(error).color(ui.visuals().warn_fg_color)),
        Ok(explanation) => {
            let weights = explanation.step(StepKind::Softmax).and_then(|step| step.numbers.first());
            ui.label(said(explanation, weights.map_or(&[], |weights| &weights.values)));
            let sizes = &explanation.sizes;
            let norm = if explanation.norm_first { "before" } else { "after" };
            let line = format!(
                "{} d_model {}, {} heads of d_k {} and d_v {}, inner width {}; the norm stands {norm} the block.",
                explanation.origin, sizes.d_model, sizes.heads, sizes.d_k, sizes.d_v, sizes.ffn_width
            );
            ui.label(RichText::new(line).weak());
            if !explanation.missing.is_empty() {
                let count = explanation.missing.len();
                let line = format!(
                    "The trace lacks {count} taps of this layer; their steps are left out. With --tap '*', wordloom attend keeps all."
                );
                ui.label(RichText::new(line).weak());
            }
            for (number, step) in (1..).zip(&explanation.steps) {
                let open = matches!(step.kind, StepKind::Softmax | StepKind::Logits);
                CollapsingHeader::new(format!("{number}. {}", step.title))
                    .id_salt(step.title)
                    .default_open(open)
                    .show(ui, |ui| show_step(ui, explanation, step));
            }
        }
    }
}

/// What the head does here, in a sentence.
fn said(Explanation { query, produces, keys, .. }: &Explanation, weights: &[f32]) -> String {
    let best = (0..weights.len()).max_by(|&one, &other| weights[one].total_cmp(&weights[other]));
    let Some((key, weight)) = best.and_then(|best| Some((keys.get(best)?, weights[best]))) else {
        return String::new();
    };
    let most = format!("takes most from “{}”: {:.1} % of the weight.", key.label, 100.0 * weight);
    match produces {
        None => format!("Reading “{}”, this head {most}", query.label),
        Some(next) => format!(
            "Having read “{}”, the decoder is about to write “{}”. This head {most}",
            query.label, next.label
        ),
    }
}

fn show_step(ui: &mut Ui, explanation: &Explanation, step: &Step) {
    ui.label(format!("{} ({})", step.why, step.section));
    // the window's fonts have no ᵢ and ⱼ
    let formula = step.formula.replace('ᵢ', "_i").replace('ⱼ', "_j");
    ui.label(RichText::new(formula).monospace());
    match step.kind {
        StepKind::Logits => show_candidates(ui, explanation),
        _ => step.numbers.iter().for_each(|numbers| show_numbers(ui, explanation, step.kind, numbers)),
    }
}

fn show_numbers(ui: &mut Ui, explanation: &Explanation, kind: StepKind, numbers: &Numbers) {
    let shape: Vec<String> = numbers.shape.iter().map(usize::to_string).collect();
    let name = format!("{} [{}]", numbers.name, shape.join(", "));
    let keys = explanation.keys.iter().map(|key| shortened(&key.label, 24));
    let of_keys = matches!(kind, StepKind::Products | StepKind::Scale | StepKind::Mask | StepKind::Softmax);
    match numbers.shape[..] {
        [count] if of_keys && count == explanation.keys.len() => {
            Grid::new((kind as u32, &numbers.name)).striped(true).show(ui, |ui| {
                for (key, &value) in keys.zip(&numbers.values) {
                    ui.label(key);
                    ui.label(RichText::new(short_number(value)).monospace());
                    if kind == StepKind::Softmax {
                        ui.add(ProgressBar::new(value).desired_width(BAR).desired_height(8.0));
                    }
                    ui.end_row();
                }
            });
        }
        [rows, width] if rows == explanation.keys.len() && width > 0 => {
            ui.label(name);
            Grid::new((kind as u32, &numbers.name)).show(ui, |ui| {
                for (key, row) in keys.zip(numbers.values.chunks_exact(width)).take(ROWS) {
                    strip(ui, &key, row, ROW);
                    ui.label(key);
                    ui.end_row();
                }
            });
            if rows > ROWS {
                ui.label(RichText::new(format!("… {} more", rows - ROWS)).weak());
            }
        }
        [] => {
            _ = ui.label(format!(
                "{} {}",
                numbers.name,
                short_number(numbers.values.first().copied().unwrap_or(0.0))
            ))
        }
        _ => {
            ui.horizontal_wrapped(|ui| {
                let width = STRIP[0].min(ui.available_width().max(ROW));
                strip(ui, &name, &numbers.values, width);
                ui.label(name);
            });
        }
    }
}

fn show_candidates(ui: &mut Ui, explanation: &Explanation) {
    Grid::new("candidates").striped(true).show(ui, |ui| {
        for candidate in &explanation.candidates {
            ui.label(shortened(&candidate.piece, 24));
            ui.label(RichText::new(short_number(candidate.logit)).monospace());
            ui.label(RichText::new(format!("{:.1} %", 100.0 * candidate.probability)).monospace());
            ui.add(ProgressBar::new(candidate.probability).desired_width(BAR).desired_height(8.0));
            ui.end_row();
        }
    });
}

/// A cell for each value: blue below 0, orange above, as strong as the value is large. The pointer reads one.
fn strip(ui: &mut Ui, name: &str, values: &[f32], width: f32) {
    let (room, response) = ui.allocate_exact_size(vec2(width, STRIP[1]), Sense::hover());
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let (low, high) = (finite().fold(0.0, f32::min), finite().fold(0.0, f32::max));
    response.widget_info(|| {
        let text =
            format!("{name}: {} values, {} to {}", values.len(), short_number(low), short_number(high));
        WidgetInfo::labeled(Role::Image, true, text)
    });
    let most = high.max(-low).max(f32::MIN_POSITIVE);
    let cell = room.width() / values.len().max(1) as f32;
    let [below, above] = match ui.visuals().dark_mode {
        true => [Color32::from_rgb(86, 180, 233), Color32::from_rgb(255, 154, 74)],
        false => [Color32::from_rgb(0, 114, 178), Color32::from_rgb(194, 78, 0)],
    };
    let painter = ui.painter();
    painter.rect_filled(room, 2.0, ui.visuals().extreme_bg_color);
    for (index, &value) in values.iter().enumerate() {
        let colour = if value < 0.0 { below } else { above };
        let left = room.left() + index as f32 * cell;
        let place = Rect::from_min_max(pos2(left, room.top()), pos2(left + cell, room.bottom()));
        painter.rect_filled(place, 0.0, colour.gamma_multiply((value.abs() / most).min(1.0)));
    }
    if let Some(at) = response.hover_pos() {
        let index = (((at.x - room.left()) / cell).max(0.0) as usize).min(values.len().saturating_sub(1));
        if let Some(&value) = values.get(index) {
            response.on_hover_text(format!("{name}, {index}: {}", short_number(value)));
        }
    }
}
