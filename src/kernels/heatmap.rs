//! Attention maps as pixels: the largest weights of rows and maps, which scale the colours, and the picture.

use std::ops::Range;

use super::map_blocks::Blocks;
use super::{Access, Dispatch, Kernel, fold, stride};
pub use crate::shape::{GridShape, ViewWords};

/// One invocation per pixel, one launch per visible layer.
pub static HEATMAP: Kernel = Kernel {
    name: "heatmap",
    wgsl: wgsl!("heatmap" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Read, Access::Read, Access::Read, Access::Write],
    params: HeatmapParams::FIELDS,
};

/// One invocation per row.
pub static ROW_MAXIMA: Kernel = Kernel {
    name: "row_maxima",
    wgsl: wgsl!("row_maxima" + "grid"),
    storage: &[Access::Read, Access::Write],
    params: MaximaParams::FIELDS,
};

/// One invocation per map.
pub static MAP_MAXIMA: Kernel = Kernel {
    name: "map_maxima",
    wgsl: wgsl!("map_maxima" + "grid"),
    storage: &[Access::Write],
    params: MaximaParams::FIELDS,
};

params! {
    /// Group 1 of `heatmap.wgsl`.
    pub struct HeatmapParams {
        /// Row of the grid.
        pub layer: u32,
        /// Columns of the grid.
        pub heads: u32,
        /// Layer's head in the first column.
        pub first_head: u32,
        /// Rows per map.
        pub queries: u32,
        /// Columns of a map.
        pub keys: u32,
        /// Row stride, elements.
        pub weights_stride: u32,
        /// Blocks per map.
        pub blocks_stride: u32,
        /// Width of the picture, pixels.
        pub width: u32,
        /// First row of the band, pixels.
        pub first_row: u32,
        /// Rows of the band, pixels.
        pub rows: u32,
    }
}

params! {
    /// Group 1 of `row_maxima.wgsl` and `map_maxima.wgsl`.
    pub struct MaximaParams {
        /// Maps.
        pub heads: u32,
        /// Rows per map.
        pub queries: u32,
        /// Columns of a map.
        pub keys: u32,
        /// Row stride, elements.
        pub weights_stride: u32,
    }
}

impl ViewWords {
    /// The same view with its level of blocks.
    pub fn leveled(self, shape: GridShape) -> Self {
        let blocks = Blocks::of(shape);
        let level = blocks.level(self.step);
        let [_, columns] = blocks.size(level);
        Self { level, level_begin: blocks.begin(level) as u32, level_columns: columns as u32, ..self }
    }
}

const LANES: u32 = 64;

/// Finds the largest weights of one layer's maps.
///
/// * storage of the first: weights `[heads * queries, keys]`, maxima `[heads * (1 + queries)]` without padding; of the
///   second: the maxima
pub fn maxima(shape: GridShape) -> [Dispatch; 2] {
    let params = MaximaParams {
        heads: shape.heads as u32,
        queries: shape.queries as u32,
        keys: shape.keys as u32,
        weights_stride: stride(shape.keys) as u32,
    };
    let rows = fold(shape.heads * shape.queries, LANES);
    [
        Dispatch::new(&ROW_MAXIMA, Vec::new(), &params, rows),
        Dispatch::new(&MAP_MAXIMA, Vec::new(), &params, fold(shape.heads, LANES)),
    ]
}

/// Rows of a picture with the maps of one layer and their gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Band {
    /// The row of the grid.
    pub layer: usize,
    /// Rows, pixels.
    pub rows: Range<u32>,
}

/// The bands of a picture, from the top.
pub fn bands(shape: GridShape, view: &ViewWords, height: u32) -> Vec<Band> {
    let pitch = shape.queries as f32 + view.gap;
    let last = shape.layers.saturating_sub(1) as f32;
    let layer = |row: u32| {
        let point = view.origin[1] + (row as f32 + 0.5) * view.step[1];
        (point / pitch).floor().clamp(0.0, last) as usize
    };
    let mut bands: Vec<Band> = Vec::new();
    for row in 0..height {
        match bands.last_mut() {
            Some(band) if band.layer == layer(row) => band.rows.end = row + 1,
            _ => bands.push(Band { layer: layer(row), rows: row..row + 1 }),
        }
    }
    bands
}

/// Paints one of [`bands`].
///
/// * `first_head`: layer's head in the grid's first column; `width`: of the picture, pixels
/// * storage: weights and maxima as in [`maxima`], blocks as in [`map_blocks::launches`](super::map_blocks::launches)
///   (if a level is shown), [`ViewWords`], 256 colours (RGBA, red in the lowest byte), pixels `[height, width]`
pub fn paint(shape: GridShape, first_head: usize, width: u32, band: &Band) -> Dispatch {
    let rows = band.rows.len();
    let params = HeatmapParams {
        layer: band.layer as u32,
        heads: shape.heads as u32,
        first_head: first_head as u32,
        queries: shape.queries as u32,
        keys: shape.keys as u32,
        weights_stride: stride(shape.keys) as u32,
        blocks_stride: Blocks::of(shape).count() as u32,
        width,
        first_row: band.rows.start,
        rows: rows as u32,
    };
    Dispatch::new(&HEATMAP, Vec::new(), &params, fold(width as usize * rows, LANES))
}
