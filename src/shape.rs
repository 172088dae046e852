//! Shapes of a graph's values and of operators. Kernels and CPU code share them.

use std::fmt;
use std::ops::Range;

/// Type of a value's elements, four bytes per element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dtype {
    /// 32-bit float.
    F32,
    /// Unsigned 32-bit integer: token ids, positions, masks, indices.
    U32,
}

/// The shape `[rows, width]`, row-major. Batch, heads and lengths are folded into the rows; operators that need them have
/// them as fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Number of rows.
    pub rows: usize,
    /// Elements in a row.
    pub width: usize,
}

impl Shape {
    /// A shape.
    pub const fn new(rows: usize, width: usize) -> Self {
        Self { rows, width }
    }

    /// Number of elements; saturates, so that a check against any limit fails.
    pub const fn elements(self) -> usize {
        self.rows.saturating_mul(self.width)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {}]", self.rows, self.width)
    }
}

/// What an attention computes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttentionShape {
    /// Sentences.
    pub batch: usize,
    /// Heads.
    pub heads: usize,
    /// Queries of a sentence.
    pub queries: usize,
    /// Keys of a sentence.
    pub keys: usize,
    /// Width of a query and of a key of one head: d_k.
    pub d_head: usize,
    /// Width of a value of one head: d_v.
    pub d_value: usize,
    /// Factor of the scores: 1 / √d_head, or 1.
    pub scale: f32,
    /// Whether query i sees only the keys up to i.
    pub causal: bool,
}

/// What a projection to a subspace computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LowRankShape {
    /// Sentences.
    pub batch: usize,
    /// Rows of a sentence, [`LOW_RANK_LENGTH`] at most.
    pub length: usize,
    /// Elements of a row.
    pub width: usize,
    /// Dimensions of the subspace.
    pub rank: usize,
}

/// Most rows of a sentence in a [`LowRankShape`]: the time grows with their square.
pub const LOW_RANK_LENGTH: usize = 512;

/// What a learned projection of keys and values along the length computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProjectedShape {
    /// Sentences.
    pub batch: usize,
    /// Rows of a sentence.
    pub length: usize,
    /// Room for the rows of a sentence in the result.
    pub room: usize,
    /// Columns of the keys.
    pub keys: usize,
    /// Columns of the values; 0 for keys alone.
    pub values: usize,
}

/// What a cached attention computes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CachedAttentionShape {
    /// Queries: beams of all sentences.
    pub rows: usize,
    /// Heads.
    pub heads: usize,
    /// Width of a query and of a key of one head: d_k.
    pub d_head: usize,
    /// Width of a value of one head: d_v.
    pub d_value: usize,
    /// Cache slots of a row.
    pub capacity: usize,
    /// Factor of the scores: 1 / √d_head, or 1.
    pub scale: f32,
}

/// What part of the grid is painted and how: the fourth buffer of `heatmap.wgsl`.
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
    /// A pixel shows whole blocks of this level of blocks (`kernels/map_blocks.rs`).
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

/// The keys in a query's neighbourhood: its own block of positions, and keys on both sides of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Band {
    /// Positions of a block; 1 for a window around each query.
    pub block: usize,
    /// Keys before the block.
    pub left: usize,
    /// Keys after the block.
    pub right: usize,
}

impl Band {
    /// The `radius` keys on each side of a query, and its own.
    pub const fn window(radius: usize) -> Self {
        Self { block: 1, left: radius, right: radius }
    }

    /// No key at all: a layer whose queries see only sums.
    pub const NONE: Self = Self { block: 0, left: 0, right: 0 };

    /// Number of keys, also of those beyond the text.
    pub const fn width(self) -> usize {
        self.left + self.block + self.right
    }

    /// The keys of a query in a text of `length` tokens.
    pub fn keys(self, query: usize, length: usize) -> Range<usize> {
        let start = query / self.block * self.block;
        start.saturating_sub(self.left)..(start + self.block + self.right).min(length)
    }
}

/// What an attention computes whose queries see the keys of a band, and perhaps a few others: the side keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BandedShape {
    /// Sentences.
    pub batch: usize,
    /// Heads.
    pub heads: usize,
    /// Queries of a sentence, and keys.
    pub length: usize,
    /// Width of a query and of a key of one head: d_k.
    pub d_head: usize,
    /// Width of a value of one head: d_v.
    pub d_value: usize,
    /// Factor of the scores: 1 / √d_head, or 1.
    pub scale: f32,
    /// Keys around each query.
    pub band: Band,
    /// Reach of the bias by distance in the band, if there is a bias.
    pub reach: Option<usize>,
    /// Room for the side keys of a sentence; 0 for none.
    pub most_sides: usize,
    /// How often a sentence's repeated side keys count; 1 for once, as the others.
    pub side_copies: usize,
    /// Tokens that a side key stands for, and reach of its bias by distance, if the side keys have a bias.
    pub side_blocks: Option<SideBlocks>,
}

/// Side keys that stand for blocks of tokens: key j for those from `j * tokens` on, the last one also for all others.
/// The bias depends on the distance from the query's block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SideBlocks {
    /// Tokens of a block.
    pub tokens: usize,
    /// Reach of the bias, blocks.
    pub reach: usize,
}

impl BandedShape {
    /// Rows of the table of biases: of the band's distances, then of the side keys'.
    pub fn bias_rows(&self) -> usize {
        let of_band = self.reach.map_or(0, |reach| 2 * reach + 1);
        of_band + self.side_blocks.map_or(0, |blocks| 2 * blocks.reach + 1)
    }

    /// Columns of the weights of a query: the side keys, then the band.
    pub fn weight_columns(&self) -> usize {
        self.most_sides + self.band.width()
    }
}
