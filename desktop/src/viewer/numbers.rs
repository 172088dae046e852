//! A table of numbers and a name for every head, which the user can sort.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use eframe::egui::{Button, Context, Label, Rect, RichText, ScrollArea, Sense, Shape, Stroke, Ui, vec2};
use wordloom::trace::spectrum::MOST;
use wordloom::trace::statistics::HeadStatistics;
use wordloom::trace::{AttentionKind, Trace};

use crate::gallery::Head;
use crate::theme;

/// Tokens up to which numbers are computed at once. Singular values of longer sentences are slow and wait until the table is shown.
const SHORT: usize = 48;

#[derive(Default)]
pub struct Numbers {
    /// The trace and sentence of the numbers.
    of: Option<(Arc<Trace>, usize)>,
    coming: Option<Receiver<Vec<HeadStatistics>>>,
    heads: Vec<HeadStatistics>,
    sorted: Option<Column>,
    descending: bool,
}

/// A column of the table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Head,
    Name,
    Entropy,
    Distance,
    Diagonal,
    Previous,
    Next,
    Special,
    Punctuation,
    Rare,
    Confidence,
    Components,
}

const COLUMNS: [(Column, &str, f32, &str); 12] = [
    (Column::Head, "head", 48.0, "Layer and head, counted from 1"),
    (Column::Name, "looks", 166.0, "The place or kind of token that stands out"),
    (
        Column::Entropy,
        "entropy",
        68.0,
        "Over that of a head without preferences: 0 is one key, 1 is all of them",
    ),
    (Column::Distance, "distance", 72.0, "How far away the attended keys are, in keys"),
    (Column::Diagonal, "own", 50.0, "Mass on the query's own place"),
    (Column::Previous, "previous", 72.0, "Mass on the place before it"),
    (Column::Next, "next", 50.0, "Mass on the place after it"),
    (Column::Special, "special", 62.0, "Mass on tokens that stand for no text"),
    (Column::Punctuation, "signs", 50.0, "Mass on punctuation"),
    (Column::Rare, "rare", 50.0, "Mass on the rarest key"),
    (Column::Confidence, "largest", 62.0, "The mean of the rows' largest weights"),
    (
        Column::Components,
        "components",
        92.0,
        "Fewest that hold 90 % of the variance, of the greatest possible number",
    ),
];

impl Numbers {
    /// Computes the numbers of a sentence on another thread, if it is short or the table is shown.
    pub fn attend(&mut self, window: &Context, trace: &Arc<Trace>, sentence: usize, looked_at: bool) {
        let same = |(of, index): &(Arc<Trace>, usize)| Arc::ptr_eq(of, trace) && *index == sentence;
        if !self.of.as_ref().is_some_and(same) {
            (self.of, self.coming) = (Some((trace.clone(), sentence)), None);
            self.heads.clear();
        }
        if let Some(heads) = self.coming.as_ref().and_then(|coming| coming.try_recv().ok()) {
            (self.heads, self.coming) = (heads, None);
        }
        let tokens =
            trace.sentences[sentence].source_tokens.len() + trace.sentences[sentence].target_tokens.len();
        if self.heads.is_empty() && self.coming.is_none() && (looked_at || tokens <= 2 * SHORT) {
            let (send, coming) = channel();
            let (trace, window) = (trace.clone(), window.clone());
            let work = move || {
                let _ = send.send(trace.sentences[sentence].statistics()); // the receiver may be gone
                window.request_repaint();
            };
            if std::thread::Builder::new().name("numbers".into()).spawn(work).is_ok() {
                self.coming = Some(coming);
            }
        }
    }

    /// A head's name, if known.
    pub fn label(&self, kind: AttentionKind, head: Head) -> Option<String> {
        let own =
            |one: &&HeadStatistics| (one.kind, one.layer, Some(one.head)) == (kind, head.layer, head.head);
        self.heads.iter().find(own).map(|head| head.label().to_string())
    }

    /// Shows the table of a kind. Returns the clicked head.
    pub fn show(&mut self, ui: &mut Ui, kind: AttentionKind) -> Option<Head> {
        if self.heads.is_empty() {
            ui.horizontal(|ui| {
                ui.spinner();
                ui.label(
                    RichText::new("computing; the singular values of a long sentence take a while").weak(),
                );
            });
            return None;
        }
        let mut rows: Vec<&HeadStatistics> = self.heads.iter().filter(|head| head.kind == kind).collect();
        if let Some(column) = self.sorted {
            match column {
                Column::Head => {} // already sorted
                Column::Name => rows.sort_by_key(|head| head.label().to_string()),
                column => rows.sort_by(|a, b| value(a, column).total_cmp(&value(b, column))),
            }
        }
        if self.descending {
            rows.reverse();
        }
        let mut chosen = None;
        let height = 26.0;
        let (sorted, descending) = (self.sorted, self.descending);
        let mut sort = None;
        ScrollArea::horizontal().show(ui, |ui| {
            ui.vertical(|ui| {
                ui.spacing_mut().item_spacing.x = 0.0;
                ui.horizontal(|ui| {
                    for (column, name, width, explained) in COLUMNS {
                        let text = RichText::new(name).weak();
                        let button = Button::new(text).frame(false);
                        let head = ui.add_sized(vec2(width, height), button);
                        if sorted == Some(column) {
                            paint_arrow(ui, head.rect, descending);
                        }
                        if head.on_hover_text(explained).clicked() {
                            sort = Some(column);
                        }
                    }
                });
                ScrollArea::vertical().show_rows(ui, height, rows.len(), |ui, range| {
                    for head in &rows[range] {
                        ui.horizontal(|ui| {
                            for (column, _, width, _) in COLUMNS {
                                // a row is one stop of the Tab key
                                let sense =
                                    if column == Column::Head { Sense::click() } else { Sense::CLICK };
                                let label = Label::new(text(head, column)).truncate().sense(sense);
                                let mut label = ui.add_sized(vec2(width, height), label);
                                if column == Column::Components {
                                    label = label.on_hover_ui(|ui| curve(ui, &head.numbers.spectrum));
                                }
                                if label.on_hover_cursor(eframe::egui::CursorIcon::PointingHand).clicked() {
                                    chosen = Some(Head { layer: head.layer, head: Some(head.head) });
                                }
                            }
                        });
                    }
                    theme::follow_focus(ui);
                });
            });
        });
        if let Some(column) = sort {
            self.descending = self.sorted == Some(column) && !self.descending;
            self.sorted = Some(column);
        }
        chosen
    }
}

/// Draws which share of the variance the first 1, 2, 3, … components hold.
fn curve(ui: &mut Ui, shares: &[f64]) {
    ui.label(RichText::new("variance that the first components hold").weak());
    let (rect, _) = ui.allocate_exact_size(vec2(180.0, 72.0), Sense::hover());
    let last = shares.len().max(1) as f32;
    let at = |count: usize, share: f64| {
        rect.left_bottom() + vec2(count as f32 / last * rect.width(), -(share as f32) * rect.height())
    };
    let most = [at(0, MOST), at(shares.len().max(1), MOST)];
    ui.painter().line_segment(most, Stroke::new(1.0, ui.visuals().weak_text_color()));
    let points = std::iter::once(at(0, 0.0));
    let points = points.chain((1..).zip(shares).map(|(count, share)| at(count, *share)));
    ui.painter().add(Shape::line(points.collect(), Stroke::new(2.0, theme::accent(ui))));
}

/// Paints the arrow, because not every font has one.
fn paint_arrow(ui: &Ui, rect: Rect, down: bool) {
    let (tip, foot) = if down { (3.0, -3.0) } else { (-3.0, 3.0) };
    let middle = rect.right_center() - vec2(2.0, 0.0);
    let corners = [vec2(-4.0, foot), vec2(4.0, foot), vec2(0.0, tip)].map(|corner| middle + corner);
    ui.painter().add(Shape::convex_polygon(corners.to_vec(), theme::accent(ui), Stroke::NONE));
}

fn value(head: &HeadStatistics, column: Column) -> f64 {
    let numbers = &head.numbers;
    match column {
        Column::Head | Column::Name => 0.0,
        Column::Entropy => numbers.relative_entropy,
        Column::Distance => numbers.distance,
        Column::Diagonal => numbers.diagonal,
        Column::Previous => numbers.previous,
        Column::Next => numbers.next,
        Column::Special => numbers.special,
        Column::Punctuation => numbers.punctuation,
        Column::Rare => numbers.rare,
        Column::Confidence => numbers.confidence,
        Column::Components => numbers.components as f64,
    }
}

fn text(head: &HeadStatistics, column: Column) -> String {
    match column {
        Column::Head => format!("{}.{}", head.layer + 1, head.head + 1),
        Column::Name => head.label().to_string(),
        Column::Distance => format!("{:.1}", head.numbers.distance),
        Column::Components if head.numbers.full_rank == 0 => "–".into(), // too large a map
        Column::Components => format!("{}/{}", head.numbers.components, head.numbers.full_rank),
        column => format!("{:.2}", value(head, column)),
    }
}
