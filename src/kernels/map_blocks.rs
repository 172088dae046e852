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

/// The levels of a map: at level *l* a block stands for 2<sup>l</sup> x 2<sup>l</sup> cells and has the largest of them, so that a
/// pixel of square cells reads some nine blocks, however many it covers. Level 0 are the cells themselves. A map's levels stand
/// one after the other from level 1, at two bytes for each weight and as many for its share of its row's largest: a third of the
/// memory of a square map, and up to as much as that of a narrow one.
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
    pub(super) fn size(self, level: u32) -> [usize; 2] {
        [self.queries, self.keys].map(|cells| cells.div_ceil(1 << level))
    }

    /// Where a level begins in the blocks of a map.
    pub(super) fn begin(self, level: u32) -> usize {
        (1..level).map(|below| self.size(below).iter().product::<usize>()).sum()
    }

    /// How many a map has.
    pub(super) fn count(self) -> usize {
        self.begin(self.last() + 1).max(1)
    }
}

/// Invocations of a workgroup.
const LANES: u32 = 64;

/// Elements that the blocks of one layer's maps take.
pub fn elements(shape: GridShape) -> usize {
    shape.heads * Blocks::of(shape).count()
}

/// The launches that make the blocks of one layer's maps, from the lowest level.
///
/// * storage of the first: weights and maxima as in [`heatmap::maxima`](super::heatmap::maxima), blocks `[heads, blocks]`; of the others: the blocks
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
