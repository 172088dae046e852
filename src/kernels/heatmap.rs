//! Attention maps as pixels: the largest weights of rows and maps, which colours are a share of, and the picture itself.

use super::{Access, Dispatch, Kernel, fold, stride};

/// One invocation per pixel; a launch for each layer.
pub static HEATMAP: Kernel = Kernel {
    name: "heatmap",
    wgsl: wgsl!("heatmap" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Read, Access::Read, Access::Write],
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
        /// The row of the grid that is painted.
        pub layer: u32,
        /// Rows of the grid.
        pub layers: u32,
        /// Columns of the grid.
        pub heads: u32,
        /// Which of the layer's heads is the first column.
        pub first_head: u32,
        /// Rows of a map.
        pub queries: u32,
        /// Columns of a map.
        pub keys: u32,
        /// Between rows, elements.
        pub weights_stride: u32,
        /// Of the picture, pixels.
        pub width: u32,
        /// Of the picture, pixels.
        pub height: u32,
    }
}

params! {
    /// Group 1 of `row_maxima.wgsl` and `map_maxima.wgsl`.
    pub struct MaximaParams {
        /// Maps.
        pub heads: u32,
        /// Rows of a map.
        pub queries: u32,
        /// Columns of a map.
        pub keys: u32,
        /// Between rows, elements.
        pub weights_stride: u32,
    }
}

/// What part of the grid is painted and how: the kernel's third buffer.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct ViewWords {
    /// The grid's point in the upper left corner, x and y, cells.
    pub origin: [f32; 2],
    /// Cells from pixel to pixel, along x and y.
    pub step: [f32; 2],
    /// Cells between maps.
    pub gap: f32,
    /// Queries of each map that are shown.
    pub rows: u32,
    /// 0: share of the map's largest weight; 1: logarithm, from 10⁻⁴ to 1; 2: share of the row's largest weight.
    pub scale: u32,
    /// RGBA of what is no map.
    pub background: [u8; 4],
}

/// The maps of all heads of some layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GridShape {
    /// Rows of the grid.
    pub layers: usize,
    /// Columns of the grid.
    pub heads: usize,
    /// Rows of a map.
    pub queries: usize,
    /// Columns of a map.
    pub keys: usize,
}

/// Invocations of a workgroup.
const LANES: u32 = 64;

/// The launches that find the largest weights of one layer's maps.
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

/// The launch that paints one layer; that of layer 0 paints the background, too.
///
/// * `first_head`: which of the layer's heads is the grid's first
/// * storage: weights and maxima as in [`maxima`], [`ViewWords`], 256 colours (RGBA, red in the lowest byte), pixels
///   `[height, width]`
pub fn paint(shape: GridShape, layer: usize, first_head: usize, [width, height]: [u32; 2]) -> Dispatch {
    let params = HeatmapParams {
        layer: layer as u32,
        layers: shape.layers as u32,
        heads: shape.heads as u32,
        first_head: first_head as u32,
        queries: shape.queries as u32,
        keys: shape.keys as u32,
        weights_stride: stride(shape.keys) as u32,
        width,
        height,
    };
    Dispatch::new(&HEATMAP, Vec::new(), &params, fold(width as usize * height as usize, LANES))
}
