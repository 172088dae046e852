//! Attention maps as pixels: the largest weights of rows and maps, which colours are a share of; smaller maps, for pictures
//! with more cells than pixels; and the picture itself.

use std::ops::Range;

use super::{Access, Dispatch, Kernel, fold, stride};

/// One invocation per pixel; a launch for each layer that is in the picture.
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

/// One invocation per block of 2 x 2 cells.
pub static MAP_BLOCKS: Kernel = Kernel {
    name: "map_blocks",
    wgsl: wgsl!("map_blocks" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Write],
    params: MapBlocksParams::FIELDS,
};

/// One invocation per block of 2 x 2 blocks.
pub static MAP_BLOCKS_OF_BLOCKS: Kernel = Kernel {
    name: "map_blocks_of_blocks",
    wgsl: wgsl!("map_blocks_of_blocks" + "grid"),
    storage: &[Access::Write],
    params: BlocksOfBlocksParams::FIELDS,
};

params! {
    /// Group 1 of `heatmap.wgsl`.
    pub struct HeatmapParams {
        /// The row of the grid that is painted.
        pub layer: u32,
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
        /// Between the blocks of one map and the next's.
        pub blocks_stride: u32,
        /// Of the picture, pixels.
        pub width: u32,
        /// The first of the band's rows, pixels.
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
        /// Rows of a map.
        pub queries: u32,
        /// Columns of a map.
        pub keys: u32,
        /// Between rows, elements.
        pub weights_stride: u32,
    }
}

params! {
    /// Group 1 of `map_blocks.wgsl`.
    pub struct MapBlocksParams {
        /// Maps.
        pub heads: u32,
        /// Rows of a map.
        pub queries: u32,
        /// Columns of a map.
        pub keys: u32,
        /// Between rows, elements.
        pub weights_stride: u32,
        /// Between the blocks of one map and the next's.
        pub blocks_stride: u32,
    }
}

params! {
    /// Group 1 of `map_blocks_of_blocks.wgsl`.
    pub struct BlocksOfBlocksParams {
        /// Maps.
        pub heads: u32,
        /// Where the level below begins in a map's blocks.
        pub below: u32,
        /// Its rows.
        pub below_rows: u32,
        /// Its columns.
        pub below_columns: u32,
        /// Where this level begins.
        pub begin: u32,
        /// Its rows.
        pub rows: u32,
        /// Its columns.
        pub columns: u32,
        /// Between the blocks of one map and the next's.
        pub blocks_stride: u32,
    }
}

/// What part of the grid is painted and how: the kernel's fourth buffer.
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
    /// A pixel shows whole blocks of this level of [`Blocks`].
    pub level: u32,
    /// Where these blocks begin in those of a map.
    pub level_begin: u32,
    /// How many stand side by side.
    pub level_columns: u32,
    /// Nothing.
    pub unused: u32,
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

/// Smaller maps: at level *l* a block stands for 2<sup>l</sup> x 2<sup>l</sup> cells and has the largest of them, so that a
/// pixel that covers many cells reads nine blocks at most. Level 0 are the cells themselves. A map's levels stand one after the
/// other from level 1, at two bytes for each weight and as many for its share of its row's largest: a third of the map's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    queries: usize,
    keys: usize,
}

impl Blocks {
    /// Those of each map of a grid.
    pub fn of(GridShape { queries, keys, .. }: GridShape) -> Self {
        Self { queries, keys }
    }

    /// The last level: a map is one block.
    fn last(self) -> u32 {
        self.queries.max(self.keys).next_power_of_two().trailing_zeros()
    }

    /// The level whose blocks are as large as a pixel, or up to half as large.
    pub fn level(self, [x, y]: [f32; 2]) -> u32 {
        let cells = x.min(y).max(1.0);
        (cells.log2() as u32).min(self.last())
    }

    /// Rows and columns of a level.
    fn size(self, level: u32) -> [usize; 2] {
        [self.queries, self.keys].map(|cells| cells.div_ceil(1 << level))
    }

    /// Where a level begins in the blocks of a map.
    fn begin(self, level: u32) -> usize {
        (1..level).map(|below| self.size(below).iter().product::<usize>()).sum()
    }

    /// How many a map has.
    fn count(self) -> usize {
        self.begin(self.last() + 1).max(1)
    }
}

/// Elements that the blocks of one layer's maps take.
pub fn block_elements(shape: GridShape) -> usize {
    shape.heads * Blocks::of(shape).count()
}

/// The launches that make the blocks of one layer's maps, from the lowest level.
///
/// * storage of the first: weights and maxima as in [`maxima`], blocks `[heads, blocks]`; of the others: the blocks
pub fn blocks(shape: GridShape) -> impl Iterator<Item = Dispatch> {
    let of_map = Blocks::of(shape);
    let blocks_stride = of_map.count() as u32;
    let heads = shape.heads as u32;
    (1..=of_map.last()).map(move |level| {
        let [rows, columns] = of_map.size(level);
        let workgroups = fold(shape.heads * rows * columns, LANES);
        if level == 1 {
            let params = MapBlocksParams {
                heads,
                queries: shape.queries as u32,
                keys: shape.keys as u32,
                weights_stride: stride(shape.keys) as u32,
                blocks_stride,
            };
            return Dispatch::new(&MAP_BLOCKS, Vec::new(), &params, workgroups);
        }
        let [below_rows, below_columns] = of_map.size(level - 1);
        let params = BlocksOfBlocksParams {
            heads,
            below: of_map.begin(level - 1) as u32,
            below_rows: below_rows as u32,
            below_columns: below_columns as u32,
            begin: of_map.begin(level) as u32,
            rows: rows as u32,
            columns: columns as u32,
            blocks_stride,
        };
        Dispatch::new(&MAP_BLOCKS_OF_BLOCKS, Vec::new(), &params, workgroups)
    })
}

impl ViewWords {
    /// The same with the level that suits it.
    pub fn leveled(self, shape: GridShape) -> Self {
        let blocks = Blocks::of(shape);
        let level = blocks.level(self.step);
        let [_, columns] = blocks.size(level);
        Self { level, level_begin: blocks.begin(level) as u32, level_columns: columns as u32, ..self }
    }
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

/// Rows of a picture that show the maps of one layer, and what is no map beside them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Band {
    /// The row of the grid.
    pub layer: usize,
    /// Pixels.
    pub rows: Range<u32>,
}

/// The bands that make a picture, from the top.
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

/// The launch that paints one of [`bands`].
///
/// * `first_head`: which of the layer's heads is the grid's first; `width`: of the picture, pixels
/// * storage: weights and maxima as in [`maxima`], blocks as in [`blocks`] (anything while level 0 is shown), [`ViewWords`],
///   256 colours (RGBA, red in the lowest byte), pixels `[height, width]`
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
