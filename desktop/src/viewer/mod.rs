//! The half of the window where one looks: all heads of a kind, one of them, or their numbers.

mod axes;
mod canvas;
mod numbers;
mod play;
mod sentence;

use std::sync::Arc;

use eframe::egui::accesskit::Role;
use eframe::egui::{Color32, ComboBox, Key, Label, Rect, RichText, ScrollArea, Sense, Ui, WidgetInfo, vec2};
use wordloom::heatmap::{Cell, ColourMap, GridShape, Scale};
use wordloom::trace::{AttentionKind, LayerAttention, Trace, TracedSentence};

use crate::files::{Content, Files};
use crate::gallery::{self, Chosen, Gallery, Head};
use crate::theme;
use canvas::Canvas;
use numbers::Numbers;
use play::Play;

/// What is looked at, and how.
pub struct Viewer {
    live: Option<Arc<Trace>>,
    /// A trace that was opened, and what its file is called; it hides the live one.
    file: Option<(String, Arc<Trace>)>,
    sentence: usize,
    pub kind: AttentionKind,
    pub scale: Scale,
    pub colours: ColourMap,
    place: Place,
    canvas: Canvas,
    play: Play,
    numbers: Numbers,
    /// Whether it stands in a part of the window that scrolls, so that there is no end to fill up to.
    pub scrolls: bool,
    /// What was under the pointer a frame ago: it is told above the picture.
    at: Option<Cell>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    All,
    One(Head),
    Numbers,
}

impl Viewer {
    pub fn new(kind: AttentionKind, scale: Scale, colours: ColourMap) -> Self {
        Self {
            live: None,
            file: None,
            sentence: 0,
            kind,
            scale,
            colours,
            place: Place::All,
            canvas: Canvas::default(),
            play: Play::default(),
            numbers: Numbers::default(),
            scrolls: false,
            at: None,
        }
    }

    /// What a translation left; a file that is looked at stays.
    pub fn set_live(&mut self, trace: Arc<Trace>) {
        self.live = Some(trace);
        if self.file.is_none() {
            self.play.stop();
        }
    }

    /// Looks at a trace from a file.
    pub fn open(&mut self, name: String, trace: Arc<Trace>) {
        self.file = Some((name, trace));
        self.sentence = 0;
        self.place = Place::All;
        self.play.stop();
        self.canvas.reset();
    }

    /// Back to what is being translated.
    pub fn close_file(&mut self) {
        if self.file.take().is_some() {
            (self.sentence, self.place) = (0, Place::All);
            self.canvas.reset();
        }
    }

    /// Whether it shows a file.
    pub fn shows_file(&self) -> bool {
        self.file.is_some()
    }

    fn trace(&self) -> Option<Arc<Trace>> {
        self.file.as_ref().map(|(_, trace)| trace).or(self.live.as_ref()).cloned()
    }

    /// All texts that it shows, to be looked through for letters that no font has.
    pub fn texts(&self) -> Vec<String> {
        let shown = self.trace();
        let sentence = shown.as_ref().and_then(|trace| trace.sentences.get(self.sentence));
        sentence.map_or_else(Vec::new, |sentence| vec![sentence.source.clone(), sentence.target.clone()])
    }

    pub fn show(&mut self, ui: &mut Ui, gallery: &Gallery, files: &mut Files) {
        self.show_file(ui);
        let Some(trace) = self.trace() else {
            self.show_nothing(ui, "The attention of a translation appears here.");
            return;
        };
        if trace.sentences.is_empty() {
            self.show_nothing(ui, "There is no sentence yet, so that there is no attention to see.");
            return;
        }
        self.sentence = self.sentence.min(trace.sentences.len() - 1);
        self.show_sentences(ui, &trace);
        let sentence = &trace.sentences[self.sentence];
        self.show_kinds(ui, sentence);
        self.numbers.attend(ui.ctx(), &trace, self.sentence, self.place == Place::Numbers);
        match self.place {
            Place::Numbers => {
                self.show_places(ui, sentence);
                if let Some(head) = self.numbers.show(ui, self.kind) {
                    self.go(Place::One(head));
                }
            }
            Place::All | Place::One(_) => self.show_maps(ui, &trace, gallery, files),
        }
    }

    fn go(&mut self, place: Place) {
        if self.place != place {
            self.place = place;
            self.canvas.reset();
        }
    }

    fn show_nothing(&self, ui: &mut Ui, why: &str) {
        ui.centered_and_justified(|ui| ui.label(RichText::new(why).weak()));
    }

    fn show_file(&mut self, ui: &mut Ui) {
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

    fn show_sentences(&mut self, ui: &mut Ui, trace: &Trace) {
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
        ComboBox::from_label("sentence").selected_text(name(self.sentence)).width(320.0).show_ui(ui, |ui| {
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

    fn show_kinds(&mut self, ui: &mut Ui, sentence: &TracedSentence) {
        ui.horizontal_wrapped(|ui| {
            for (kind, name, explained) in KINDS {
                let there = sentence.layers(kind).next().is_some();
                let tab = ui.add_enabled_ui(there, |ui| ui.selectable_label(self.kind == kind, name)).inner;
                if tab.on_hover_text(explained).on_disabled_hover_text(missing(sentence, kind)).clicked() {
                    self.kind = kind;
                    self.play.stop();
                    if let Place::One(_) = self.place {
                        self.place = Place::All; // another kind has other heads
                    }
                    self.canvas.reset();
                }
            }
            ui.separator();
            ComboBox::from_label("colours").selected_text(self.colours.to_string()).show_ui(ui, |ui| {
                for colours in ColourMap::ALL {
                    ui.selectable_value(&mut self.colours, colours, colours.to_string());
                }
            });
            ComboBox::from_label("scale").selected_text(scale_name(self.scale)).show_ui(ui, |ui| {
                for scale in Scale::ALL {
                    ui.selectable_value(&mut self.scale, scale, scale_name(scale));
                }
            });
        });
    }

    /// Where one is, and the ways from there.
    fn show_places(&mut self, ui: &mut Ui, sentence: &TracedSentence) {
        ui.horizontal_wrapped(|ui| {
            let all = ui.selectable_label(self.place == Place::All, "All heads");
            if all.on_hover_text("Layers go down, heads go right").clicked() {
                self.go(Place::All);
            }
            if ui.selectable_label(self.place == Place::Numbers, "Numbers").clicked() {
                self.go(Place::Numbers);
            }
            if let Place::One(head) = self.place {
                self.show_head_choice(ui, sentence, head);
            }
            if self.place != Place::Numbers {
                ui.separator();
                show_legend(ui, self.colours, self.scale);
            }
        });
    }

    fn show_head_choice(&mut self, ui: &mut Ui, sentence: &TracedSentence, shown: Head) {
        let mut chosen = shown;
        let layers: Vec<&LayerAttention> = sentence.layers(self.kind).collect();
        ComboBox::from_label("layer").selected_text((shown.layer + 1).to_string()).show_ui(ui, |ui| {
            for layer in &layers {
                ui.selectable_value(&mut chosen.layer, layer.layer, (layer.layer + 1).to_string());
            }
        });
        let heads = sentence.layer(self.kind, shown.layer).map_or(0, |layer| layer.heads);
        let name = |head: Option<usize>| head.map_or("mean of all".into(), |head| (head + 1).to_string());
        ComboBox::from_label("head").selected_text(name(shown.head)).show_ui(ui, |ui| {
            ui.selectable_value(&mut chosen.head, None, name(None));
            for head in (0..heads).map(Some) {
                ui.selectable_value(&mut chosen.head, head, name(head));
            }
        });
        if let Some(label) = self.numbers.label(self.kind, shown) {
            ui.label(RichText::new(label).color(theme::accent(ui)));
        }
        // the same place of another head is what one wants to compare
        self.place = Place::One(chosen);
    }

    fn show_maps(&mut self, ui: &mut Ui, trace: &Arc<Trace>, gallery: &Gallery, files: &mut Files) {
        let sentence = &trace.sentences[self.sentence];
        self.show_places(ui, sentence);
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
        let look = canvas::Look { scale: self.scale, colours: self.colours, rows };
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
                files.save(Content::Trace(trace.clone()));
            }
            if ui.button("Save picture…").on_hover_text("These maps as a PNG file").clicked() {
                let wish = self.canvas.wish(trace, &chosen, shape, &look, ui);
                files.save(Content::Picture(Box::new(wish)));
            }
        });
        let within = |cell: &Cell| cell.query < shape.queries && cell.key < shape.keys;
        self.show_readout(ui, sentence, &chosen, shape, self.at.filter(within));
        let size = match self.scrolls {
            true => vec2(ui.available_width(), ui.available_width().clamp(260.0, 420.0)),
            false => ui.available_size().max(vec2(120.0, 120.0)),
        };
        let seen =
            self.canvas.show(ui, gallery, trace, &chosen, shape, &look, size, |ui, at, view| match one {
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

    /// One line that says what is under the pointer, above the sentence with both tokens marked.
    fn show_readout(
        &self,
        ui: &mut Ui,
        sentence: &TracedSentence,
        chosen: &Chosen,
        shape: GridShape,
        at: Option<Cell>,
    ) {
        let found = at.and_then(|cell| describe(sentence, chosen, cell));
        let text = match (&found, at) {
            (Some(found), Some(cell)) => {
                let head = match chosen.one {
                    Some(_) => String::new(),
                    None => {
                        let layer = sentence.layers(self.kind).nth(cell.layer).map_or(0, |layer| layer.layer);
                        let label = self.numbers.label(self.kind, Head { layer, head: Some(cell.head) });
                        let label = label.map_or_else(String::new, |label| format!(" ({label})"));
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

const KINDS: [(AttentionKind, &str, &str); 3] = [
    (AttentionKind::Cross, "Translation to source", "Cross-attention: where the decoder looks in the source"),
    (AttentionKind::Encoder, "Source", "The encoder's self-attention: source to source"),
    (AttentionKind::Decoder, "Translation", "The decoder's self-attention: to what it has written so far"),
];

fn scale_name(scale: Scale) -> &'static str {
    match scale {
        Scale::Linear => "linear",
        Scale::Logarithmic => "logarithmic",
        Scale::Rows => "each row by itself",
    }
}

/// Why a kind is not there.
fn missing(sentence: &TracedSentence, kind: AttentionKind) -> String {
    let of_kind = |left: &&wordloom::trace::LeftOut| left.attention.is_some_and(|(left, _)| left == kind);
    match sentence.left_out.iter().find(of_kind) {
        Some(left) => format!("Left out: {}", shortened(&left.reason, 200)),
        None => "This trace has no such attention.".into(),
    }
}

/// What is at a cell.
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
    let at =
        |head: usize| layer.weights.get((head * layer.queries + cell.query) * layer.keys + cell.key).copied();
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

/// What the colours mean, in a row that breaks where the window is narrow.
fn show_legend(ui: &mut Ui, colours: ColourMap, scale: Scale) {
    let (least, most) = match scale {
        Scale::Linear => ("0", "largest"),
        Scale::Logarithmic => ("0.0001", "1"),
        Scale::Rows => ("0", "row's largest"),
    };
    let (rect, response) = ui.allocate_exact_size(vec2(72.0, 8.0), Sense::hover());
    for step in 0..36 {
        let [r, g, b] = colours.colour((step as f32 + 0.5) / 36.0);
        let part = Rect::from_min_size(rect.min + vec2(2.0 * step as f32, 0.0), vec2(2.0, rect.height()));
        ui.painter().rect_filled(part, 0.0, Color32::from_rgb(r, g, b));
    }
    let named = format!("{least} – {most}");
    ui.add(Label::new(RichText::new(&named).small().weak()).extend());
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, format!("colours: {named}")));
}

/// Text of a file or a model, fit for one line: without line breaks and signs that turn others around.
pub fn shortened(text: &str, most: usize) -> String {
    let turns =
        |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let plain = |c: char| if c.is_control() || turns(c) { ' ' } else { c };
    let mut characters = text.chars().map(plain);
    let line: String = characters.by_ref().take(most).collect();
    if characters.next().is_some() { line + "…" } else { line }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use eframe::egui::{Context, Vec2};
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable;
    use wordloom::Device;
    use wordloom::trace::{TargetToken, Token};

    use super::*;

    /// A sentence of so many tokens, whose heads attend straight across.
    fn trace(tokens: usize) -> Trace {
        let source: String = (0..tokens).map(|index| format!("w{index} ")).collect();
        let mut at = 0;
        let source_tokens: Vec<Token> = source
            .split_inclusive(' ')
            .map(|word| {
                let range = Some([at, at + word.len() - 1]);
                at += word.len();
                Token { id: 5, piece: format!("▁{}", word.trim()), special: false, range }
            })
            .collect();
        let target_tokens =
            std::iter::once(Token { piece: "<pad>".into(), special: true, ..Token::default() })
                .chain(source_tokens.iter().cloned())
                .map(|token| TargetToken { token, ..TargetToken::default() })
                .collect();
        let heads = 8;
        let one = |index: usize| {
            if index / tokens % tokens == index % tokens { 0.75 } else { 0.25 / tokens as f32 }
        };
        let layer = |layer| LayerAttention {
            kind: AttentionKind::Cross,
            layer,
            heads,
            queries: tokens,
            keys: tokens,
            weights: (0..heads * tokens * tokens).map(one).collect(),
        };
        let sentence = TracedSentence {
            target: source.trim_end().into(),
            source: source.trim_end().into(),
            source_tokens,
            target_tokens,
            prompt: 1,
            attention: (0..4).map(layer).collect(),
            ..TracedSentence::default()
        };
        Trace { model: "made up".into(), sentences: vec![sentence] }
    }

    struct Shown {
        viewer: Viewer,
        gallery: Gallery,
        files: Files,
    }

    fn shown(trace: Trace) -> Harness<'static, Shown> {
        let window = Context::default();
        let mut viewer = Viewer::new(AttentionKind::Cross, Scale::Linear, ColourMap::Viridis);
        viewer.open("a.json".into(), Arc::new(trace));
        let gallery = Gallery::open(&Device::Cpu, window.clone()).expect("a thread");
        let shown = Shown { viewer, gallery, files: Files::new(window) };
        Harness::builder()
            .with_size(Vec2::new(900.0, 700.0))
            .build_ui_state(|ui, shown| shown.viewer.show(ui, &shown.gallery, &mut shown.files), shown)
    }

    /// Shows frames until the picture that is wanted is there; how long that took.
    fn until_painted(harness: &mut Harness<'_, Shown>) -> Duration {
        let begun = Instant::now();
        harness.step(); // says what is wanted
        while !harness.state().viewer.canvas.is_painted() {
            assert!(begun.elapsed() < Duration::from_secs(20), "nothing is painted");
            std::thread::sleep(Duration::from_millis(5));
            harness.step();
        }
        begun.elapsed()
    }

    #[test]
    fn all_heads_of_four_hundred_tokens_and_one_of_them_are_there_within_a_second() {
        let mut harness = shown(trace(400));
        let overview = until_painted(&mut harness);
        let maps = harness.get_by_label_contains("attention maps");
        maps.focus();
        harness.step();
        for key in [Key::ArrowRight, Key::ArrowDown, Key::Enter] {
            harness.key_press(key);
            harness.step();
        }
        let viewer = &harness.state().viewer;
        assert!(viewer.place == Place::One(Head { layer: 0, head: Some(0) }), "Enter opens the marked head");
        let head = until_painted(&mut harness);
        // what tells is that nobody waits; a machine may be busy with other tests
        assert!(overview < Duration::from_secs(1), "the overview took {overview:?}");
        assert!(head < Duration::from_secs(1), "the head took {head:?}");
    }

    #[test]
    fn the_marked_cell_is_told_and_numbers_lead_to_their_head() {
        let mut harness = shown(trace(6));
        until_painted(&mut harness);
        harness.get_by_label_contains("attention maps").focus();
        harness.step();
        for key in [Key::ArrowRight, Key::ArrowDown, Key::ArrowRight] {
            harness.key_press(key);
            harness.run_steps(2);
        }
        // the first arrow puts the mark on the first cell
        harness.get_by_label_contains("“w1” attends to “w1” with 0.75");
        harness.get_by_label("Numbers").click();
        harness.step();
        let begun = Instant::now();
        while harness.query_all_by_label("positional: diagonal").next().is_none() {
            assert!(begun.elapsed() < Duration::from_secs(20), "no numbers");
            std::thread::sleep(Duration::from_millis(5));
            harness.step();
        }
        harness.get_by_label("entropy").click(); // the arrow that it gets, fonts have to have
        harness.run_steps(2);
        harness.get_by_label("2.5").click();
        harness.run_steps(2);
        let place = harness.state().viewer.place;
        assert!(place == Place::One(Head { layer: 1, head: Some(4) }), "a row leads to its head");
    }

    #[test]
    fn a_label_is_one_line_that_turns_nothing_around() {
        assert_eq!(shortened("a\nb\u{202e}c", 9), "a b c");
        assert_eq!(shortened("abcdef", 3), "abc…");
    }
}
