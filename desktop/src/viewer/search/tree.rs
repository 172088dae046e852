//! The tree, from left to right. Only nodes near the screen are drawn, so that a long search costs no more than a short one.

use eframe::egui::accesskit::Role;
use eframe::egui::epaint::CubicBezierShape;
use eframe::egui::text::{LayoutJob, TextWrapping};
use eframe::egui::{
    Align2, Color32, CursorIcon, EventFilter, FontId, Key, Label, Pos2, Rect, Response, RichText, ScrollArea,
    Sense, Stroke, StrokeKind, TextFormat, Ui, Vec2, WidgetInfo, vec2,
};
use wordloom::decode::Fate;

use super::found::Found;
use crate::texts::{percent, shortened, signed};
use crate::theme;

/// Options of drawing.
pub struct Look {
    /// The length penalty for the scores of finished hypotheses.
    pub penalty: f32,
    /// The node that ends the best hypothesis.
    pub best: Option<usize>,
    /// Whether the next tree is pending.
    pub stale: bool,
    /// Height of the tree's area, in points.
    pub height: f32,
}

#[derive(Default)]
pub struct Tree {
    /// The node marked by the keyboard.
    mark: usize,
    /// The node under the pointer, or the mark, in the previous frame, for the line below the tree.
    pointed: Option<usize>,
    /// Whether the line describes the mark until the pointer moves.
    described: bool,
    /// Whether to scroll to the beginning.
    fresh: bool,
    /// Whether to scroll to the mark.
    follow: bool,
}

const FONT: f32 = 13.5;
const SMALL: f32 = 11.5;
const KEYS: [Key; 6] = [Key::ArrowLeft, Key::ArrowRight, Key::ArrowUp, Key::ArrowDown, Key::Home, Key::End];

impl Tree {
    /// Resets the view for another tree.
    pub fn reset(&mut self) {
        *self = Self { fresh: true, ..Self::default() };
    }

    /// Marks a node and scrolls to it.
    pub fn go(&mut self, node: usize) {
        (self.mark, self.described, self.follow) = (node, true, true);
    }

    /// Shows the tree, and a line about the node under the pointer. Returns the node that the user chose to continue from.
    pub fn show(&mut self, ui: &mut Ui, found: &Found, look: &Look) -> Option<usize> {
        if found.search.tree.nodes.is_empty() {
            ui.label(RichText::new("The search looked at nothing.").weak());
            return None;
        }
        let mut area = ScrollArea::both().id_salt("tree").max_height(look.height).auto_shrink([false, true]);
        if std::mem::take(&mut self.fresh) {
            area = area.scroll_offset(Vec2::ZERO);
        }
        let shown = area.show_viewport(ui, |ui, seen| {
            if look.stale {
                ui.set_opacity(0.5);
            }
            self.show_nodes(ui, found, look, seen)
        });
        let (chosen, focused) = shown.inner;
        if focused {
            let stroke = Stroke::new(1.5, theme::accent(ui));
            let height = shown.content_size.y.min(shown.inner_rect.height());
            let rect = Rect::from_min_size(shown.inner_rect.min, vec2(shown.inner_rect.width(), height));
            ui.painter().rect_stroke(rect.expand(2.0), 6.0, stroke, StrokeKind::Outside);
        }
        show_line(ui, found, look, self.pointed);
        chosen
    }

    /// Shows the visible part. Returns the chosen node, and whether the tree has the keyboard.
    fn show_nodes(&mut self, ui: &mut Ui, found: &Found, look: &Look, seen: Rect) -> (Option<usize>, bool) {
        let tree = &found.search.tree;
        let (whole, response) = ui.allocate_exact_size(found.layout.size(), Sense::click());
        let focused = response.has_focus();
        let mut chosen = self.keys(ui, found, &response);
        let under = |place: Pos2| found.layout.at((place - whole.min).to_pos2());
        let hovered = response.hover_pos().and_then(under);
        if response.clicked() {
            response.request_focus();
            // Enter is a click without a position
            if let Some(node) = response.interact_pointer_pos().and_then(under) {
                self.mark = node;
                chosen = Some(node);
            }
        }
        self.described &= !response.contains_pointer();
        let pointed = hovered.or((focused || self.described).then_some(self.mark));
        if pointed != self.pointed {
            self.pointed = pointed;
            ui.ctx().request_repaint(); // the next frame shows its line
        }
        if hovered.is_some_and(|node| found.prefix_through(node).is_some()) {
            ui.set_cursor_icon(CursorIcon::PointingHand);
        }
        if std::mem::take(&mut self.follow) || response.gained_focus() {
            let place = found.layout.rect(self.mark).translate(whole.min.to_vec2());
            ui.scroll_to_rect(place.expand2(vec2(40.0, 4.0)), None);
        }
        let best = look.best.map_or_else(Vec::new, |node| tree.path(node));
        let path = self.pointed.map_or_else(Vec::new, |node| tree.path(node));
        let painting = Painting { ui, found, look, origin: whole.min, best: &best, path: &path };
        painting.root();
        let drawn: Vec<usize> = found.layout.within(seen).collect();
        drawn.iter().for_each(|&node| painting.edge(node));
        drawn.iter().for_each(|&node| painting.node(node, focused && node == self.mark));
        let name = format!(
            "search tree of {} tokens; arrow keys move, Enter goes on from a token",
            tree.nodes.len()
        );
        response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &name));
        (chosen, focused)
    }

    /// Handles keys: arrows move the mark, Enter chooses.
    fn keys(&mut self, ui: &Ui, found: &Found, response: &Response) -> Option<usize> {
        if !response.has_focus() {
            return None;
        }
        let filter = EventFilter { horizontal_arrows: true, vertical_arrows: true, ..EventFilter::default() };
        ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
        for key in KEYS.into_iter().filter(|&key| ui.input(|input| input.key_pressed(key))) {
            if let Some(next) = found.layout.next(&found.search.tree, self.mark, key) {
                self.go(next);
            }
        }
        ui.input(|input| input.key_pressed(Key::Enter)).then_some(self.mark)
    }
}

/// The inputs of drawing nodes and edges.
struct Painting<'a> {
    ui: &'a Ui,
    found: &'a Found,
    look: &'a Look,
    origin: Pos2,
    /// Nodes of the best hypothesis, in order.
    best: &'a [usize],
    /// Nodes from the root to the one under the pointer, in order.
    path: &'a [usize],
}

impl Painting<'_> {
    fn rect(&self, node: usize) -> Rect {
        self.found.layout.rect(node).translate(self.origin.to_vec2())
    }

    /// Whether a path contains a node. A node's index in a path is its step.
    fn is_on(&self, path: &[usize], node: usize) -> bool {
        let step = self.found.search.tree.nodes[node].step as usize;
        path.get(step.wrapping_sub(1)) == Some(&node)
    }

    fn root(&self) {
        let rect = self.found.layout.root().translate(self.origin.to_vec2());
        let begin = match self.found.prefix.last() {
            Some(&token) => format!("… {}", self.found.label_of(token)),
            None => "start".into(),
        };
        let color = self.ui.visuals().weak_text_color();
        self.text(rect, &begin, FONT, color, Align2::LEFT_CENTER);
    }

    /// Draws the edge from the node's parent.
    fn edge(&self, node: usize) {
        let visuals = self.ui.visuals();
        let parent = self.found.search.tree.nodes[node].parent.map(|parent| parent as usize);
        let from = match parent {
            Some(parent) => self.rect(parent).right_center(),
            None => self.found.layout.root().translate(self.origin.to_vec2()).right_center(),
        };
        let to = self.rect(node).left_center();
        let line = visuals.window_stroke.color;
        let stroke = if self.is_on(self.path, node) {
            Stroke::new(1.5, visuals.text_color())
        } else if self.is_on(self.best, node) {
            Stroke::new(2.0, theme::accent(self.ui))
        } else if self.found.search.tree.nodes[node].fate == Fate::Rejected {
            Stroke::new(1.0, line)
        } else {
            Stroke::new(1.2, visuals.weak_text_color().lerp_to_gamma(line, 0.4))
        };
        let bend = vec2((to.x - from.x) / 2.0, 0.0);
        let points = [from, from + bend, to - bend, to];
        self.ui.painter().add(CubicBezierShape::from_points_stroke(
            points,
            false,
            Color32::TRANSPARENT,
            stroke,
        ));
    }

    fn node(&self, node: usize, marked: bool) {
        let rect = self.rect(node);
        if !self.ui.is_rect_visible(rect) {
            return;
        }
        let (visuals, accent) = (self.ui.visuals(), theme::accent(self.ui));
        let of_tree = &self.found.search.tree.nodes[node];
        let quiet = visuals.weak_text_color();
        let (card, line) = (visuals.window_fill, visuals.window_stroke.color);
        let wins = self.look.best == Some(node);
        let (fill, stroke, ink, small) = if wins {
            let on_accent = visuals.selection.stroke.color;
            (accent, accent, on_accent, on_accent)
        } else if self.is_on(self.best, node) {
            (card.lerp_to_gamma(accent, 0.12), accent, visuals.text_color(), quiet)
        } else {
            match of_tree.fate {
                Fate::Kept => (card, line, visuals.text_color(), quiet),
                Fate::Finished => (card, quiet, visuals.text_color(), visuals.text_color()),
                Fate::Rejected => (visuals.panel_fill, visuals.panel_fill, quiet, quiet),
            }
        };
        let painter = self.ui.painter();
        painter.rect(rect, 7.0, fill, Stroke::new(1.0, stroke), StrokeKind::Inside);
        if marked || self.path.last() == Some(&node) {
            let stroke = Stroke::new(if marked { 2.0 } else { 1.0 }, visuals.text_color());
            painter.rect_stroke(rect, 7.0, stroke, StrokeKind::Outside);
        }
        let number = match of_tree.fate {
            Fate::Finished => signed(of_tree.score(self.look.penalty), 2),
            Fate::Kept | Fate::Rejected => percent(of_tree.log_probability.exp()),
        };
        let inner = rect.shrink2(vec2(8.0, 0.0));
        let taken = self.text(inner, &number, SMALL, small, Align2::RIGHT_CENTER);
        let left = inner.with_max_x(inner.right() - taken - 5.0);
        self.text(left, &self.found.label(node), FONT, ink, Align2::LEFT_CENTER);
    }

    /// Draws a line of text, cut to the rectangle. Returns its width.
    fn text(&self, rect: Rect, text: &str, size: f32, color: Color32, align: Align2) -> f32 {
        let format = TextFormat::simple(FontId::proportional(size), color);
        let mut job = LayoutJob::single_section(text.to_owned(), format);
        job.wrap = TextWrapping::truncate_at_width(rect.width());
        let painter = self.ui.painter();
        let galley = painter.layout_job(job);
        let width = galley.size().x;
        painter.galley(align.align_size_within_rect(galley.size(), rect).min, galley, color);
        width
    }
}

/// What the looks of tokens say.
const SIGNS: &str = "Solid tokens were kept, pale ones rejected, framed ones end a hypothesis";

/// Shows exactly one line, so that the content below does not move.
fn show_line(ui: &mut Ui, found: &Found, look: &Look, pointed: Option<usize>) {
    let text = match pointed {
        Some(node) => about(found, look, node),
        None if found.is_of_a_file() => format!("{SIGNS}."),
        None => format!("{SIGNS}. Click one to go on from there."),
    };
    ui.add(Label::new(RichText::new(text).weak()).truncate());
}

/// The text about a node.
fn about(found: &Found, look: &Look, node: usize) -> String {
    let tree = &found.search.tree;
    let of_tree = &tree.nodes[node];
    let fate = match of_tree.fate {
        Fate::Kept => "kept as one of the beams".to_owned(),
        Fate::Finished => format!("finished, with the score {}", signed(of_tree.score(look.penalty), 2)),
        Fate::Rejected if found.ends(node) => "rejected; it would have ended here".to_owned(),
        Fate::Rejected if !found.is_of_a_file() => "rejected; click it to go on from here".to_owned(),
        Fate::Rejected => "rejected".to_owned(),
    };
    let before = [found.prefix.clone(), tree.tokens(node)].concat();
    let before = found.words(&before[..before.len() - 1]);
    let skipped = before.chars().count().saturating_sub(60);
    let before: String = before.chars().skip(skipped).collect();
    let before = if skipped > 0 { format!("…{before}") } else { before };
    let text = format!(
        "{} “{}” with {}, together {}: {fate}.",
        shortened(&before, 70),
        found.label(node),
        percent(of_tree.log_probability.exp()),
        signed(of_tree.sum, 2)
    );
    text.trim_start().to_owned()
}
