//! The rows of choices above the picture.

use eframe::egui::accesskit::Role;
use eframe::egui::{
    Button, CollapsingHeader, Color32, Label, Rect, RichText, ScrollArea, Sense, TextStyle, Ui, WidgetInfo,
    vec2,
};
use wordloom::heatmap::{ColourMap, Scale};
use wordloom::trace::{AttentionKind, HeadName, LayerAttention, LeftOut, Trace, TracedSentence};

use super::{Place, Requests, Viewer, head_name};
use crate::choice;
use crate::gallery::Head;
use crate::muting::{Muting, kind_name};
use crate::row;
use crate::texts::shortened;
use crate::theme;

impl Viewer {
    pub(super) fn show_file(&mut self, ui: &mut Ui) {
        let Some((name, trace)) = &self.file else { return };
        let mut close = false;
        theme::card(ui).show(ui, |ui| {
            ui.horizontal_wrapped(|ui| {
                ui.label(RichText::new(name).strong());
                ui.label(RichText::new(format!("a trace of “{}”", shortened(&trace.model, 60))).weak());
                close = ui.button("Close").on_hover_text("Back to what you translate").clicked();
            });
        });
        if close {
            self.close_file();
        }
    }

    pub(super) fn show_sentences(&mut self, ui: &mut Ui, trace: &Trace) {
        if trace.sentences.len() < 2 {
            return;
        }
        let before = self.sentence;
        let name = |index: usize| {
            format!(
                "{} of {}: {}",
                index + 1,
                trace.sentences.len(),
                shortened(&trace.sentences[index].source, 48)
            )
        };
        choice::show(ui, "sentence", &name(self.sentence), Some(320.0), |ui| {
            let height = ui.spacing().interact_size.y;
            ScrollArea::vertical().max_height(320.0).show_rows(
                ui,
                height,
                trace.sentences.len(),
                |ui, rows| {
                    for index in rows {
                        ui.selectable_value(&mut self.sentence, index, name(index));
                    }
                },
            );
        });
        if self.sentence != before {
            self.canvas.reset();
            self.play.stop();
        }
    }

    /// Shows the tabs.
    pub(super) fn show_places(&mut self, ui: &mut Ui) {
        ui.horizontal_wrapped(|ui| {
            for (place, name, explained) in [
                (Place::All, "All heads", "Layers go down, heads go right"),
                (Place::Numbers, "Numbers", "What stands out in each head"),
                (Place::Search, "Search", "What the search looked at, and why a translation won"),
                (Place::Microscope, "Microscope", "Every number of one attention, in the order of the paper"),
            ] {
                let tab = ui.selectable_label(self.place == place, name);
                if tab.on_hover_text(explained).clicked() {
                    self.go(place);
                }
            }
            if let Place::All | Place::One(_) = self.place {
                show_legend(ui, self.colours, self.scale);
            }
        });
    }

    pub(super) fn show_kinds(&mut self, ui: &mut Ui, sentence: &TracedSentence) {
        ui.horizontal_wrapped(|ui| {
            for (kind, explained) in KINDS {
                let there = sentence.layers(kind).next().is_some();
                let tab = |ui: &mut Ui| ui.selectable_label(self.kind == kind, kind_name(kind));
                let tab = ui.add_enabled_ui(there, tab).inner;
                if tab.on_hover_text(explained).on_disabled_hover_text(missing(sentence, kind)).clicked() {
                    self.kind = kind;
                    self.play.stop();
                    if let Place::One(_) = self.place {
                        self.place = Place::All; // the other kind has other heads
                    }
                    self.canvas.reset();
                }
            }
            if let Place::Numbers | Place::Microscope = self.place {
                return; // no colours there
            }
            let colours = self.colours.to_string();
            row::separate(ui, choice::length(ui, "colours", &colours, None));
            choice::show(ui, "colours", &colours, None, |ui| {
                for colours in ColourMap::ALL {
                    ui.selectable_value(&mut self.colours, colours, colours.to_string());
                }
            });
            choice::show(ui, "scale", scale_name(self.scale), None, |ui| {
                for scale in Scale::ALL {
                    ui.selectable_value(&mut self.scale, scale, scale_name(scale));
                }
            });
        });
    }

    /// Shows the current head and its muting. Returns the heads to mute, if the user changed them.
    pub(super) fn show_head(
        &mut self,
        ui: &mut Ui,
        sentence: &TracedSentence,
        shown: Head,
        muting: &Muting,
    ) -> Option<Vec<HeadName>> {
        ui.horizontal_wrapped(|ui| {
            let heads = self.show_head_choice(ui, sentence, shown);
            let head = head_name(self.kind, shown).filter(|_| self.can_ask());
            let muted = head.and_then(|head| show_muting(ui, head, heads, muting));
            // it appears later than the rest, so it is last: buttons must not move under the pointer
            if let Some(label) = self.numbers.label(self.kind, shown) {
                ui.label(RichText::new(label).color(theme::accent(ui)));
            }
            muted
        })
        .inner
    }

    /// Shows, folded, the kind of attention of the shown encoder layer or of all, and the parts that can be off. Requests what the user
    /// changes.
    pub(super) fn show_changes(&self, ui: &mut Ui, muting: &Muting, requests: &mut Requests) {
        let layer = match self.place {
            Place::One(head) => Some(head.layer),
            Place::All => None,
            Place::Numbers | Place::Search | Place::Microscope => return,
        };
        if !self.can_ask() {
            return;
        }
        let folded = CollapsingHeader::new("Change the model").id_salt("changes").show(ui, |ui| {
            if self.kind == AttentionKind::Encoder {
                requests.swapped = muting.swapping.show(ui, layer);
            }
            requests.switched = muting.switching.show(ui);
        });
        folded
            .header_response
            .on_hover_text("Translate without a part, or with another attention of a layer");
    }

    /// Shows the choice of layer and head. Returns the number of heads.
    fn show_head_choice(&mut self, ui: &mut Ui, sentence: &TracedSentence, shown: Head) -> usize {
        let mut chosen = shown;
        let layers: Vec<&LayerAttention> = sentence.layers(self.kind).collect();
        choice::show(ui, "layer", &(shown.layer + 1).to_string(), None, |ui| {
            for layer in &layers {
                ui.selectable_value(&mut chosen.layer, layer.layer, (layer.layer + 1).to_string());
            }
        });
        let heads = sentence.layer(self.kind, shown.layer).map_or(0, |layer| layer.heads);
        let name = |head: Option<usize>| head.map_or("mean of all".into(), |head| (head + 1).to_string());
        choice::show(ui, "head", &name(shown.head), None, |ui| {
            ui.selectable_value(&mut chosen.head, None, name(None));
            for head in (0..heads).map(Some) {
                ui.selectable_value(&mut chosen.head, head, name(head));
            }
        });
        // the view stays, so that heads can be compared
        self.place = Place::One(chosen);
        heads
    }
}

/// Shows the buttons that mute. Returns the heads to mute, if the user clicked.
fn show_muting(ui: &mut Ui, head: HeadName, heads: usize, muting: &Muting) -> Option<Vec<HeadName>> {
    let mute = ui.button(if muting.has(head) { "Unmute this head" } else { "Mute this head" });
    if mute.on_hover_text("Translate as if this head brought nothing").clicked() {
        return Some(muting.turned(head));
    }
    let only = ui.add_enabled(heads > 1, Button::new("Only this head of its layer"));
    only.on_hover_text("Mute all others of the layer").clicked().then(|| muting.isolated(head, heads))
}

const KINDS: [(AttentionKind, &str); 3] = [
    (AttentionKind::Cross, "Cross-attention: where the decoder looks in the source"),
    (AttentionKind::Encoder, "The encoder's self-attention: source to source"),
    (AttentionKind::Decoder, "The decoder's self-attention: to what it has written so far"),
];

fn scale_name(scale: Scale) -> &'static str {
    match scale {
        Scale::Linear => "linear",
        Scale::Logarithmic => "logarithmic",
        Scale::Rows => "each row by itself",
    }
}

/// The reason why a kind is missing.
pub(super) fn missing(sentence: &TracedSentence, kind: AttentionKind) -> String {
    let of_kind = |left: &&LeftOut| left.attention.is_some_and(|(left, _)| left == kind);
    match sentence.left_out.iter().find(of_kind) {
        Some(left) => format!("Left out: {}", shortened(&left.reason, 200)),
        None => "This trace has no such attention.".into(),
    }
}

/// Shows the legend of colours, in a row that wraps.
fn show_legend(ui: &mut Ui, colours: ColourMap, scale: Scale) {
    let (least, most) = match scale {
        Scale::Linear => ("0", "largest"),
        Scale::Logarithmic => ("0.0001", "1"),
        Scale::Rows => ("0", "row's largest"),
    };
    let named = format!("{least} – {most}");
    row::separate(ui, 72.0 + ui.spacing().item_spacing.x + row::length(ui, &named, TextStyle::Small));
    let (rect, response) = ui.allocate_exact_size(vec2(72.0, 8.0), Sense::hover());
    for step in 0..36 {
        let [r, g, b] = colours.colour((step as f32 + 0.5) / 36.0);
        let part = Rect::from_min_size(rect.min + vec2(2.0 * step as f32, 0.0), vec2(2.0, rect.height()));
        ui.painter().rect_filled(part, 0.0, Color32::from_rgb(r, g, b));
    }
    ui.add(Label::new(RichText::new(&named).small().weak()).extend());
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, format!("colours: {named}")));
}
