//! Attention maps as pixels.

use std::ops::Range;

use super::parallel::for_each_row;
use crate::shape::{GridShape, ViewWords};

/// Computes the largest weight of each map and of its rows.
///
/// * `weights`: `[heads * queries, keys]`; `maxima`: `[heads, 1 + queries]`
pub fn map_maxima(shape: GridShape, weights: &[f32], maxima: &mut [f32]) {
    let GridShape { queries, keys, .. } = shape;
    let largest = |values: &[f32]| values.iter().copied().fold(0.0, f32::max);
    for_each_row(maxima, 1 + queries, queries * keys, |head, maxima| {
        let rows = weights[head * queries * keys..][..queries * keys].chunks_exact(keys);
        for (maximum, row) in maxima[1..].iter_mut().zip(rows) {
            *maximum = largest(row);
        }
        maxima[0] = largest(&maxima[1..]);
    });
}

/// The maps of a layer.
pub trait MapCells: Sync {
    /// The largest of some cells of a head, scaled to 0 … 1. The cells are whole blocks of the view's level, but for those at
    /// the edges of the map or of the shown rows.
    fn largest(&self, head: usize, queries: Range<usize>, columns: Range<usize>, view: &ViewWords) -> f32;
}

/// Whole matrices.
pub struct MatrixCells<'a> {
    /// Rows per map.
    pub queries: usize,
    /// Columns of a map.
    pub keys: usize,
    /// `[heads * queries, keys]`
    pub weights: &'a [f32],
    /// As in [`map_maxima`].
    pub maxima: &'a [f32],
}

impl MapCells for MatrixCells<'_> {
    fn largest(&self, head: usize, queries: Range<usize>, columns: Range<usize>, view: &ViewWords) -> f32 {
        let maxima = &self.maxima[head * (1 + self.queries)..];
        // a grid is as wide as its widest layer
        let columns = columns.start.min(self.keys)..columns.end.min(self.keys);
        let mut value = 0.0f32;
        for query in queries {
            let row = &self.weights[(head * self.queries + query) * self.keys..][..self.keys];
            let largest = row[columns.clone()].iter().copied().fold(0.0, f32::max);
            value = value.max(scaled(largest, maxima, query, view.scale));
        }
        value
    }
}

/// A layer's part of one row of pixels.
struct Line {
    layer: usize,
    queries: Range<usize>,
}

/// Paints a grid of maps, as `shaders/heatmap.wgsl`.
///
/// * `layers`: maps of each layer; `first_head`: the one in the grid's first column
/// * `colours`: RGBA; `pixels`: `[height, width]` RGBA, red in the lowest byte
pub fn heatmap(
    shape: GridShape,
    (layers, first_head): (&[&dyn MapCells], usize),
    view: &ViewWords,
    colours: &[u32; 256],
    width: usize,
    pixels: &mut [u32],
) {
    let GridShape { heads, queries, keys, .. } = shape;
    let background = u32::from_le_bytes(view.background);
    let cells_of_a_line = (width as f32 * view.step[0] * view.step[1].max(1.0)).max(width as f32);
    for_each_row(pixels, width, 8 * cells_of_a_line as usize, |y, pixels| {
        let line = place(y, 1, view, queries, shape.layers).map(|(layer, queries)| Line { layer, queries });
        let Some(Line { layer, queries: shown }) =
            line.filter(|line| line.queries.start < view.rows as usize)
        else {
            return pixels.fill(background);
        };
        let shown = shown.start..shown.end.min(view.rows as usize);
        let cells = layers[layer];
        for (x, pixel) in pixels.iter_mut().enumerate() {
            let Some((head, columns)) = place(x, 0, view, keys, heads) else {
                *pixel = background;
                continue;
            };
            let value = cells.largest(first_head + head, shown.clone(), columns, view);
            *pixel = colours[((value.clamp(0.0, 1.0) * 255.0 + 0.5) as usize).min(255)];
        }
    });
}

/// The map and the cells that a pixel shows, along one axis with `count` maps of `cells` cells.
fn place(
    pixel: usize,
    axis: usize,
    view: &ViewWords,
    cells: usize,
    count: usize,
) -> Option<(usize, Range<usize>)> {
    let step = view.step[axis];
    let point = view.origin[axis] + (pixel as f32 + 0.5) * step;
    let pitch = cells as f32 + view.gap;
    let map = (point / pitch).floor();
    let middle = point - map * pitch;
    if !(map >= 0.0 && map < count as f32 && middle >= 0.0 && middle < cells as f32) {
        return None;
    }
    let one = (middle as usize).min(cells - 1);
    if step <= 1.0 {
        return Some((map as usize, one..one + 1));
    }
    // a map's first and last pixel also show the rest at its edge, less than half a pixel
    let first = if middle < step { 0 } else { ((middle - 0.5 * step) as usize).min(one) };
    let last = middle + step >= cells as f32;
    let end = if last { cells } else { ((middle + 0.5 * step).ceil() as usize).clamp(one + 1, cells) };
    // whole blocks, as on a GPU, which stores their largest weights
    let block = 1 << view.level;
    Some((map as usize, first / block * block..end.next_multiple_of(block).min(cells)))
}

/// The weight scaled to 0 … 1. `maxima`: of the map, then of its rows.
pub fn scaled(weight: f32, maxima: &[f32], query: usize, scale: u32) -> f32 {
    let largest = match scale {
        1 if weight > 1e-4 => return 1.0 + weight.ln() / 1e4f32.ln(),
        1 => return 0.0,
        2 => maxima[1 + query],
        _ => maxima[0],
    };
    if largest > 0.0 { weight / largest } else { 0.0 }
}
