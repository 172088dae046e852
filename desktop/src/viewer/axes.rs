//! Labels beside a picture: tokens for one map, layers and heads for a grid.

use std::f32::consts::FRAC_PI_2;
use std::sync::Arc;

use eframe::egui::epaint::TextShape;
use eframe::egui::{Align2, Color32, FontId, Galley, Pos2, Ui, pos2, vec2};
use wordloom::heatmap::{GridShape, View};
use wordloom::trace::{AttentionKind, Token, TracedSentence};

use super::canvas::{Margins, Placed};
use crate::texts::shortened;

/// A side of a map.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Query,
    Key,
}

const FONT: f32 = 13.0;
/// Distance between labels and the picture, in points.
const SPACE: f32 = 6.0;
/// The largest size of labels, in points.
const MOST: f32 = 110.0;
/// The largest number of characters in a label.
const LONGEST: usize = 16;
/// Number of labels that are measured. Longer texts show few labels at a time.
const MEASURED: usize = 64;

/// A token's text in one line, or the tokens of a sum of them, which some layers see beside the tokens.
pub fn label(sentence: &TracedSentence, kind: AttentionKind, side: Side, index: usize) -> Option<String> {
    let tokens = sentence.source_tokens.len();
    if side == Side::Key && kind == AttentionKind::Encoder && index >= tokens {
        let layouts =
            sentence.layers(kind).filter_map(|layer| layer.bands.as_ref()).map(|bands| &bands.layout);
        let layout = layouts.max_by_key(|layout| layout.sums())?;
        let of_sum = Some(index - tokens).filter(|sum| *sum < layout.sums())?;
        return Some(layout.sum_label(of_sum, tokens));
    }
    let (token, of_target) = match side {
        Side::Query if kind.queries_target() => (&sentence.target_tokens.get(index + 1)?.token, true),
        Side::Key if kind.keys_target() => (&sentence.target_tokens.get(index)?.token, true),
        _ => (sentence.source_tokens.get(index)?, false),
    };
    Some(label_of(token, if of_target { &sentence.target } else { &sentence.source }))
}

fn label_of(token: &Token, text: &str) -> String {
    shortened(&token.label(text), LONGEST)
}

/// Draws the tokens beside one map and returns the room that they need. Without a position, it only measures.
pub fn tokens(
    ui: &mut Ui,
    placed: Option<Placed>,
    view: &View,
    sentence: &TracedSentence,
    kind: AttentionKind,
) -> Margins {
    let lay = |side, index, color: Color32| -> Option<Arc<Galley>> {
        let text = label(sentence, kind, side, index)?;
        Some(ui.painter().layout_no_wrap(text, FontId::proportional(FONT), color))
    };
    let Some(placed) = placed else {
        let quiet = ui.visuals().weak_text_color();
        let widest = |side| {
            let widths =
                (0..MEASURED).map_while(|index| lay(side, index, quiet)).map(|galley| galley.size().x);
            widths.fold(0.0, f32::max).min(MOST) + SPACE + 2.0
        };
        return Margins { left: widest(Side::Query), top: widest(Side::Key) };
    };
    for side in [Side::Query, Side::Key] {
        let axis = usize::from(side == Side::Query);
        let marked = placed.at.map(|cell| if side == Side::Query { cell.query } else { cell.key });
        let cell = view.cell[axis] / placed.pixels_per_point;
        let step = ((FONT + 2.0) / cell).ceil().max(1.0) as usize;
        let [from, to] = [placed.rect.min, placed.rect.max].map(|corner| corner.to_vec2()[axis]);
        let first = view.origin[axis].max(0.0) as usize;
        let last = first + ((to - from) / cell).ceil() as usize + 1;
        // labels that would touch the marked one are hidden
        let shown = (first.next_multiple_of(step)..=last).step_by(step);
        let apart = |index: &usize| marked.is_none_or(|marked| marked.abs_diff(*index) >= step);
        for index in shown.filter(apart).chain(marked) {
            let at = from + (index as f32 + 0.5 - view.origin[axis]) * cell;
            if at < from || at > to {
                continue;
            }
            let color = if marked == Some(index) {
                ui.visuals().strong_text_color()
            } else {
                ui.visuals().weak_text_color()
            };
            let Some(galley) = lay(side, index, color) else { continue };
            match side {
                Side::Query => {
                    let clip = placed.rect.with_min_x(placed.rect.left() - MOST - SPACE);
                    let place =
                        pos2(placed.rect.left() - SPACE - galley.size().x, at - galley.size().y / 2.0);
                    ui.painter_at(clip).galley(place, galley, color);
                }
                Side::Key => {
                    let clip =
                        placed.rect.with_min_y(placed.rect.top() - MOST - SPACE).expand2(vec2(8.0, 0.0));
                    let foot: Pos2 = pos2(at, placed.rect.top() - SPACE - galley.size().y / 2.0);
                    let upright = TextShape::new(foot, galley, color)
                        .with_angle_and_anchor(-FRAC_PI_2, Align2::LEFT_CENTER);
                    ui.painter_at(clip).add(upright);
                }
            }
        }
    }
    Margins::default()
}

/// Draws layers and heads beside a grid.
pub fn maps(
    ui: &mut Ui,
    placed: Option<Placed>,
    view: &View,
    sentence: &TracedSentence,
    kind: AttentionKind,
    shape: GridShape,
) -> Margins {
    let margins = Margins { left: 58.0, top: 24.0 };
    let Some(placed) = placed else { return margins };
    let names: [Vec<String>; 2] = [
        (1..=shape.heads)
            .map(|head| if head == 1 { "head 1".to_owned() } else { head.to_string() })
            .collect(),
        sentence.layers(kind).map(|layer| format!("layer {}", layer.layer + 1)).collect(),
    ];
    for (axis, names) in names.iter().enumerate() {
        let cells = [shape.keys, shape.queries][axis] as f32;
        let [from, to] = [placed.rect.min, placed.rect.max].map(|corner| corner.to_vec2()[axis]);
        let marked = placed.at.map(|cell| [cell.head, cell.layer][axis]);
        let mut free = from - 1.0;
        for (index, name) in names.iter().enumerate() {
            let middle = index as f32 * (cells + view.gap) + cells / 2.0;
            let at = from + (middle - view.origin[axis]) * view.cell[axis] / placed.pixels_per_point;
            let color = if marked == Some(index) {
                ui.visuals().strong_text_color()
            } else {
                ui.visuals().weak_text_color()
            };
            let galley = ui.painter().layout_no_wrap(name.clone(), FontId::proportional(FONT), color);
            let half = [galley.size().x, galley.size().y][axis] / 2.0;
            if at - half < free || at < from || at > to {
                continue;
            }
            free = at + half + 4.0;
            let place = match axis {
                0 => pos2(at - half, placed.rect.top() - SPACE - galley.size().y),
                _ => pos2(placed.rect.left() - SPACE - galley.size().x, at - half),
            };
            ui.painter().galley(place, galley, color);
        }
    }
    margins
}
