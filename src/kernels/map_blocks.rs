//! Smaller maps, for pictures of attention with more cells than pixels.

use super::{Access, Dispatch, Kernel, fold, stride};
use crate::shape::GridShape;

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
    /// Group 1 of `map_blocks.wgsl`.
    pub struct MapBlocksParams {
        /// Maps.
        pub heads: u32,
        /// Rows per map.
        pub queries: u32,
        /// Columns of a map.
        pub keys: u32,
        /// Row stride, elements.
        pub weights_stride: u32,
        /// Blocks per map.
        pub blocks_stride: u32,
    }
}

params! {
    /// Group 1 of `map_blocks_of_blocks.wgsl`.
    pub struct BlocksOfBlocksParams {
        /// Maps.
        pub heads: u32,
        /// First block of the level below.
        pub below: u32,
        /// Rows of the level below.
        pub below_rows: u32,
        /// Columns of the level below.
        pub below_columns: u32,
        /// First block of this level.
        pub begin: u32,
        /// Rows of this level.
        pub rows: u32,
        /// Columns of this level.
        pub columns: u32,
        /// Blocks per map.
        pub blocks_stride: u32,
    }
}

/// The levels of a map: a block at level *l* has the largest of 2<sup>l</sup> x 2<sup>l</sup> cells. So a pixel of
/// square cells reads about nine blocks, however many cells it covers. Level 0 is the cells themselves. The levels
/// follow one another from level 1. A block has two bytes for the weight and two for its share of its row's largest
/// weight: a third of the memory of a square map, for a narrow map up to as much as the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    queries: usize,
    keys: usize,
}

impl Blocks {
    /// The levels of each map of a grid.
    pub fn of(GridShape { queries, keys, .. }: GridShape) -> Self {
        Self { queries, keys }
    }

    /// The last level, where a map is one block.
    fn last(self) -> u32 {
        self.queries.max(self.keys).next_power_of_two().trailing_zeros()
    }

    /// The level whose blocks are as large as a pixel, or at least half as large.
    pub fn level(self, [x, y]: [f32; 2]) -> u32 {
        let cells = x.min(y).max(1.0);
        (cells.log2() as u32).min(self.last())
    }

    pub(super) fn size(self, level: u32) -> [usize; 2] {
        [self.queries, self.keys].map(|cells| cells.div_ceil(1 << level))
    }

    /// First block of a level.
    pub(super) fn begin(self, level: u32) -> usize {
        (1..level).map(|below| self.size(below).iter().product::<usize>()).sum()
    }

    pub(super) fn count(self) -> usize {
        self.begin(self.last() + 1).max(1)
    }
}

const LANES: u32 = 64;

/// Elements of the blocks of one layer's maps.
pub fn elements(shape: GridShape) -> usize {
    shape.heads * Blocks::of(shape).count()
}

/// The launches that make the blocks of one layer's maps, from the lowest level.
///
/// * storage of the first: weights and maxima as in [`heatmap::maxima`](super::heatmap::maxima), blocks
///   `[heads, blocks]`; of the others: the blocks
pub fn launches(shape: GridShape) -> impl Iterator<Item = Dispatch> {
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
