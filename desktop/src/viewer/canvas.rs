//! The picture: its position and size, and the cell under the pointer.

use std::sync::Arc;

use eframe::egui::accesskit::Role;
use eframe::egui::{
    Color32, EventFilter, Key, Pos2, Rect, Response, Sense, Stroke, StrokeKind, TextureHandle,
    TextureOptions, Ui, Vec2, WidgetInfo, pos2, vec2,
};
use wordloom::heatmap::{Cell, ColourMap, GridShape, Scale, View};
use wordloom::trace::Trace;

use crate::gallery::{Chosen, Gallery, PictureRequest};
use crate::theme;

/// The shown maps, and the options of painting.
pub struct Subject<'a> {
    pub trace: &'a Arc<Trace>,
    pub chosen: Chosen,
    /// The shape of the grid of the chosen maps.
    pub shape: GridShape,
    pub scale: Scale,
    pub colours: ColourMap,
    /// Number of shown queries of each map.
    pub rows: u32,
}

impl Subject<'_> {
    fn request(&self, view: View) -> PictureRequest {
        PictureRequest { trace: self.trace.clone(), chosen: self.chosen, view }
    }

    fn styled(&self, view: View, ui: &Ui) -> View {
        let background = ui.visuals().panel_fill.to_array();
        View { scale: self.scale, colours: self.colours, rows: self.rows, background, ..view }
    }
}

/// The picture's area in a frame.
struct Area {
    response: Response,
    /// The rectangle in points, without labels.
    rect: Rect,
    shape: GridShape,
    /// The view that shows the whole grid.
    fitting: View,
}

/// The user's actions on the picture.
#[derive(Default)]
pub struct Seen {
    /// The cell under the pointer, or the keyboard's mark.
    pub at: Option<Cell>,
    /// The cell that was clicked, or marked when Enter was pressed.
    pub chosen: Option<Cell>,
    /// Whether Escape was pressed.
    pub left: bool,
    pub focused: bool,
}

/// Room for labels beside a picture, in points.
#[derive(Clone, Copy, Default)]
pub struct Margins {
    pub left: f32,
    pub top: f32,
}

/// The picture's position on the screen.
#[derive(Clone, Copy)]
pub struct Placed {
    /// The rectangle in points.
    pub rect: Rect,
    pub pixels_per_point: f32,
    pub at: Option<Cell>,
}

#[derive(Default)]
pub struct Canvas {
    /// The user's origin and cell size; `None` fits the whole grid.
    moved: Option<([f32; 2], [f32; 2])>,
    shape: Option<GridShape>,
    requested: Option<PictureRequest>,
    picture: Option<(PictureRequest, TextureHandle)>,
    error: Option<String>,
    /// The cell marked by the keyboard.
    mark: Option<Cell>,
}

/// The largest size of a cell, in pixels.
const LARGEST_CELL: f32 = 160.0;

impl Canvas {
    /// Shows the whole grid again.
    pub fn reset(&mut self) {
        self.moved = None;
        self.mark = None;
    }

    /// Whether the requested picture is shown.
    #[cfg(test)]
    pub fn is_painted(&self) -> bool {
        let (Some(requested), Some((painted, _))) = (&self.requested, &self.picture) else { return false };
        requested.same(painted)
    }

    /// The picture to save: the whole grid, in a useful size.
    pub fn picture_to_save(&self, subject: &Subject<'_>, ui: &Ui) -> PictureRequest {
        const LONGEST: u32 = 4000;
        let mut view = View::fit(subject.shape, [LONGEST; 2]);
        let extent = extent(subject.shape, &view);
        view.origin = [0.0; 2];
        view.size = [0, 1].map(|axis| ((extent[axis] * view.cell[axis]).ceil() as u32).clamp(1, LONGEST));
        subject.request(subject.styled(view, ui))
    }

    /// Shows the chosen maps. `labels` is called twice: to measure its room, then to draw.
    pub fn show(
        &mut self,
        ui: &mut Ui,
        gallery: &Gallery,
        subject: &Subject<'_>,
        size: Vec2,
        labels: impl Fn(&mut Ui, Option<Placed>, &View) -> Margins,
    ) -> Seen {
        let shape = subject.shape;
        if self.shape.replace(shape) != Some(shape) {
            self.reset();
        }
        let pixels_per_point = ui.pixels_per_point();
        let (_, outer) = ui.allocate_space(size);
        // a name of its own, so that the picture keeps the keyboard if rows appear above it
        let response = ui.interact(outer, ui.scope_id().with("maps"), Sense::click_and_drag());
        let to_pixels = |size: Vec2| [size.x, size.y].map(|side| (side * pixels_per_point).max(1.0) as u32);
        let margins = labels(ui, None, &View::fit(shape, to_pixels(outer.size())));
        let rect = Rect::from_min_max(outer.min + vec2(margins.left, margins.top), outer.max);
        if rect.width() < 4.0 || rect.height() < 4.0 {
            return Seen::default(); // too little room
        }
        let fitting = {
            let mut view = View::fit(shape, to_pixels(rect.size()));
            view.origin = [0.0; 2]; // directly beside the labels
            view
        };
        let mut view = fitting;
        if let Some((origin, cell)) = self.moved {
            // the gap grows with the cells
            (view.origin, view.cell) = (origin, cell);
        }
        let in_picture =
            |at: Pos2| [at.x - rect.left(), at.y - rect.top()].map(|side| side * pixels_per_point);
        let area = Area { response, rect, shape, fitting };
        self.move_about(ui, &area, &mut view);
        let mut seen = self.keys(ui, &area, &mut view);

        let response = area.response;
        let pointer = response.hover_pos().filter(|at| rect.contains(*at));
        view = subject.styled(view, ui);
        seen.at = match pointer.and_then(|at| view.at(shape, in_picture(at))) {
            None => seen.at,
            under => under,
        };
        if response.clicked() {
            response.request_focus();
            // Enter is a click without a position
            if let Some(at) = response.interact_pointer_pos().filter(|at| rect.contains(*at)) {
                seen.chosen = view.at(shape, in_picture(at));
                self.mark = seen.chosen;
            }
        }
        self.update_picture(ui, gallery, subject.request(view));
        self.paint(ui, rect, pixels_per_point, &view);
        let placed = Placed { rect, pixels_per_point, at: seen.at };
        if let Some(cell) = seen.at {
            mark(ui, &placed, &view, shape, cell);
        }
        labels(ui, Some(placed), &view);
        let name = format!("attention maps, {} layers of {} heads", shape.layers, shape.heads);
        response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &name));
        seen
    }

    fn move_about(&mut self, ui: &Ui, area: &Area, view: &mut View) {
        let Area { response, rect, shape, fitting } = area;
        let pixels_per_point = ui.pixels_per_point();
        if response.double_clicked() && shape.layers * shape.heads == 1 {
            self.reset();
            *view = *fitting;
        } else if response.dragged() {
            let by = response.drag_delta() * pixels_per_point;
            if by != Vec2::ZERO {
                view.pan([by.x, by.y]);
                self.keep(*shape, fitting, view);
            }
        }
        let Some(at) = response.hover_pos().filter(|at| rect.contains(*at)) else { return };
        let (wheel, pinch) = ui.input(|input| (input.smooth_scroll_delta().y, input.zoom_delta()));
        let factor = pinch * (wheel / 200.0).exp();
        if factor != 1.0 {
            // the wheel zooms and must not scroll, too
            ui.input_mut(|input| input.smooth_scroll_delta = Vec2::ZERO);
            zoom(view, (at - rect.min) * pixels_per_point, factor, fitting);
            self.keep(*shape, fitting, view);
        }
    }

    /// Handles keys: arrows move the mark, + and - zoom, 0 fits, Enter chooses, Escape leaves.
    fn keys(&mut self, ui: &Ui, area: &Area, view: &mut View) -> Seen {
        let Area { response, rect, shape, fitting } = area;
        if !response.has_focus() {
            return Seen::default();
        }
        let filter = EventFilter { horizontal_arrows: true, vertical_arrows: true, escape: true, tab: false };
        ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
        let pressed = |key| ui.input(|input| input.key_pressed(key));
        let step = |less, more| i64::from(pressed(more)) - i64::from(pressed(less));
        let by = [step(Key::ArrowLeft, Key::ArrowRight), step(Key::ArrowUp, Key::ArrowDown)];
        if by != [0, 0] {
            self.mark = Some(self.mark.map_or_else(
                || Cell { layer: 0, head: 0, query: 0, key: 0 },
                |mark| moved(mark, by, *shape),
            ));
        }
        let louder = pressed(Key::Plus) || pressed(Key::Equals);
        if louder || pressed(Key::Minus) {
            let about = rect.size() * 0.5 * ui.pixels_per_point();
            zoom(view, about, if louder { 1.25 } else { 0.8 }, fitting);
            self.keep(*shape, fitting, view);
        }
        if pressed(Key::Num0) {
            self.moved = None;
            *view = *fitting;
        }
        Seen {
            at: self.mark,
            chosen: self.mark.filter(|_| pressed(Key::Enter)),
            left: pressed(Key::Escape),
            focused: true,
        }
    }

    /// Stores the user's view, limited so that part of the maps stays visible.
    fn keep(&mut self, shape: GridShape, fitting: &View, view: &mut View) {
        view.gap = fitting.gap;
        let extent = extent(shape, view);
        for (axis, extent) in extent.into_iter().enumerate() {
            let room = view.size[axis] as f32 / view.cell[axis];
            let some = (0.2 * room).min(extent);
            view.origin[axis] = view.origin[axis].clamp(some - room, extent - some);
        }
        self.moved = Some((view.origin, view.cell));
    }

    /// Takes a painted picture, and requests the next one.
    fn update_picture(&mut self, ui: &Ui, gallery: &Gallery, request: PictureRequest) {
        if let Some(picture) = gallery.picture() {
            match picture.image {
                Ok(image) => {
                    let texture = ui.ctx().load_texture("attention maps", image, TextureOptions::NEAREST);
                    self.picture = Some((picture.request, texture));
                    self.error = None;
                }
                Err(error) => self.error = Some(error),
            }
        }
        if !self.requested.as_ref().is_some_and(|requested| requested.same(&request)) {
            gallery.request(request.clone());
            self.requested = Some(request);
        }
    }

    /// Draws the last picture, moved and stretched to the current view.
    fn paint(&self, ui: &Ui, rect: Rect, pixels_per_point: f32, view: &View) {
        let painter = ui.painter_at(rect);
        if let Some((request, texture)) = &self.picture {
            let now = self.requested.as_ref().is_some_and(|requested| requested.same_maps(request));
            let place = if now { view } else { &request.view };
            let corner = |axis: usize| (request.view.origin[axis] - place.origin[axis]) * place.cell[axis];
            let length =
                |axis: usize| request.view.size[axis] as f32 / request.view.cell[axis] * place.cell[axis];
            let min = rect.min + vec2(corner(0), corner(1)) / pixels_per_point;
            let size = vec2(length(0), length(1)) / pixels_per_point;
            let whole = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
            let tint = if now { Color32::WHITE } else { Color32::from_white_alpha(110) };
            painter.image(texture.id(), Rect::from_min_size(min, size), whole, tint);
        }
        if let Some(error) = &self.error {
            let color = ui.visuals().warn_fg_color;
            let text =
                painter.layout(error.clone(), eframe::egui::FontId::proportional(14.0), color, rect.width());
            painter.galley(rect.min, text, color);
        }
    }
}

fn zoom(view: &mut View, about: Vec2, factor: f32, fitting: &View) {
    let least = fitting.cell[0] * 0.5;
    let factor = factor.clamp(least / view.cell[0], (LARGEST_CELL / view.cell[0]).max(1.0));
    view.zoom([about.x, about.y], factor);
}

/// The grid's width and height, in cells.
fn extent(shape: GridShape, view: &View) -> [f32; 2] {
    [(shape.heads, shape.keys), (shape.layers, shape.queries)]
        .map(|(count, cells)| (count * cells) as f32 + count.saturating_sub(1) as f32 * view.gap)
}

/// A mark moved by some cells. It continues from one map to the next.
fn moved(mark: Cell, by: [i64; 2], shape: GridShape) -> Cell {
    let step = |map: usize, cell: usize, by: i64, maps: usize, cells: usize| {
        let place = (map * cells + cell) as i64 + by;
        let place = place.clamp(0, (maps * cells) as i64 - 1) as usize;
        (place / cells, place % cells)
    };
    let (head, key) = step(mark.head, mark.key, by[0], shape.heads, shape.keys);
    let (layer, query) = step(mark.layer, mark.query, by[1], shape.layers, shape.queries);
    Cell { layer, head, query, key }
}

/// Marks a cell with its row and column; in a grid, marks the map.
fn mark(ui: &Ui, placed: &Placed, view: &View, shape: GridShape, cell: Cell) {
    let painter = ui.painter_at(placed.rect.expand(2.0));
    let point = |x: f32, y: f32| {
        let offset = vec2((x - view.origin[0]) * view.cell[0], (y - view.origin[1]) * view.cell[1]);
        placed.rect.min + offset / placed.pixels_per_point
    };
    let x = cell.head as f32 * (shape.keys as f32 + view.gap);
    let y = cell.layer as f32 * (shape.queries as f32 + view.gap);
    let accent = theme::accent(ui);
    let map = Rect::from_min_max(point(x, y), point(x + shape.keys as f32, y + shape.queries as f32));
    if shape.layers * shape.heads > 1 {
        painter.rect_stroke(map, 2.0, Stroke::new(2.0, accent), StrokeKind::Outside);
    }
    let (x, y) = (x + cell.key as f32, y + cell.query as f32);
    let own = Rect::from_min_max(point(x, y), point(x + 1.0, y + 1.0));
    if own.width() >= 3.0 && own.height() >= 3.0 {
        let faint = Stroke::new(1.0, Color32::from_white_alpha(120));
        for band in [
            Rect::from_min_max(pos2(map.left(), own.top()), pos2(map.right(), own.bottom())),
            Rect::from_min_max(pos2(own.left(), map.top()), pos2(own.right(), map.bottom())),
        ] {
            painter.rect_stroke(band, 0.0, faint, StrokeKind::Inside);
        }
        painter.rect_stroke(own, 1.0, Stroke::new(2.0, Color32::WHITE), StrokeKind::Outside);
        painter.rect_stroke(own.expand(2.0), 2.0, Stroke::new(1.0, Color32::BLACK), StrokeKind::Outside);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: GridShape = GridShape { layers: 2, heads: 3, queries: 4, keys: 5 };

    #[test]
    fn the_mark_walks_through_all_maps_and_not_beyond() {
        let mut cell = Cell { layer: 0, head: 0, query: 0, key: 0 };
        for _ in 0..5 {
            cell = moved(cell, [1, 1], SHAPE);
        }
        assert_eq!(cell, Cell { layer: 1, head: 1, query: 1, key: 0 });
        for _ in 0..99 {
            cell = moved(cell, [1, -1], SHAPE);
        }
        assert_eq!(cell, Cell { layer: 0, head: 2, query: 0, key: 4 });
    }

    #[test]
    fn some_of_the_picture_is_always_left() {
        let fitting = View::fit(SHAPE, [300, 200]);
        for far in [-1e6, 1e6] {
            let mut view = fitting;
            view.pan([far, far]);
            Canvas::default().keep(SHAPE, &fitting, &mut view);
            let seen = (0..300).flat_map(|x| (0..200).map(move |y| [x as f32, y as f32]));
            let seen = seen.filter(|&pixel| view.at(SHAPE, pixel).is_some()).count();
            assert!(seen > 300, "{seen} pixels of maps after a move by {far}");
        }
    }
}
