//! Maps of layers with bands, for pictures: the largest weights of blocks of cells, where there are weights. They take a
//! third of the memory of the bands; nothing has the size of the whole matrix.

use std::borrow::Cow;
use std::ops::Range;

use half::f16;

use crate::cpu::{MapCells, scaled};
use crate::model::{Bands, LayerAttention, SideColumns};
use crate::shape::ViewWords;

/// A layer, and what a picture needs of it.
pub(super) struct BandCells<'a> {
    layer: Cow<'a, LayerAttention>,
    /// `[heads, 1 + queries]`: of a map, then of its rows.
    maxima: Vec<f32>,
    /// Columns of the side keys, in order.
    sides: Vec<usize>,
    /// From level 1; a block of level *l* has 2<sup>l</sup> queries and as many keys.
    levels: Vec<Level>,
}

/// The largest weight of some cells, and their largest share of their row's largest weight.
#[derive(Clone, Copy, Default)]
struct Block([f16; 2]);

impl Block {
    fn new(weight: f32, of_row: f32) -> Self {
        let share = if of_row > 0.0 { weight / of_row } else { 0.0 };
        Self([weight, share].map(f16::from_f32))
    }

    fn include(&mut self, other: Self) {
        for (own, other) in self.0.iter_mut().zip(other.0) {
            *own = own.max(other);
        }
    }
}

/// Blocks of all heads of a level.
struct Level {
    /// Rows of a head.
    rows: usize,
    /// Blocks of a row of the band.
    width: usize,
    /// Columns of blocks, for the queries that see all keys.
    columns: usize,
    /// `[heads, rows, width]`
    band: Vec<Block>,
    /// `[heads, rows, side keys]`: blocks of queries, single side keys.
    sides: Vec<Block>,
    /// `[heads, global queries, columns]`: single queries, blocks of keys.
    globals: Vec<Block>,
}

impl<'a> BandCells<'a> {
    /// Panics if the layer has no bands.
    pub fn new(layer: Cow<'a, LayerAttention>) -> Self {
        let &LayerAttention { heads, queries, keys, ref bands, .. } = &*layer;
        let layout = &bands.as_ref().expect("a layer with bands").layout;
        let sides = layout.side_columns(keys);
        let mut maxima = vec![0.0f32; heads * (1 + queries)];
        for (head, maxima) in maxima.chunks_exact_mut(1 + queries).enumerate() {
            for query in 0..queries {
                layer.for_each_seen(head, query, |_, weight| {
                    maxima[1 + query] = maxima[1 + query].max(weight)
                });
            }
            maxima[0] = maxima[1..].iter().copied().fold(0.0, f32::max);
        }
        let levels = Vec::new();
        let mut cells = Self { layer, maxima, sides, levels };
        let last = queries.max(keys).next_power_of_two().trailing_zeros();
        for level in 1..=last {
            let made = match cells.levels.last() {
                None => cells.lowest(),
                Some(below) => cells.above(below, level),
            };
            cells.levels.push(made);
        }
        cells
    }

    fn bands(&self) -> &Bands {
        self.layer.bands.as_ref().expect("checked when made")
    }

    /// First column of blocks of a row of blocks.
    fn first_block(&self, level: u32, row: usize) -> isize {
        self.bands().layout.first_key(row << level) >> level
    }

    fn empty(&self, level: u32) -> Level {
        let LayerAttention { heads, queries, keys, .. } = *self.layer;
        let layout = &self.bands().layout;
        let rows = queries.div_ceil(1 << level);
        let columns = keys.div_ceil(1 << level);
        // keys of all queries of a row of blocks
        let span = layout.band.width() + (1 << level) + layout.band.block;
        let width = ((span >> level) + 2).min(columns + 2 * (layout.band.left >> level) + 4);
        let blocks = |rows: usize, columns: usize| vec![Block::default(); heads * rows * columns];
        Level {
            rows,
            width,
            columns,
            band: blocks(rows, width),
            sides: blocks(rows, self.sides.len()),
            globals: blocks(layout.global_queries.len(), columns),
        }
    }

    fn lowest(&self) -> Level {
        let mut made = self.empty(1);
        let LayerAttention { heads, queries, keys, .. } = *self.layer;
        let globals = &self.bands().layout.global_queries;
        for head in 0..heads {
            for query in 0..queries {
                let largest = self.maxima[head * (1 + queries) + 1 + query];
                let row = head * made.rows + query / 2;
                let global = globals.binary_search(&query).ok();
                let first = self.first_block(1, query / 2);
                self.layer.for_each_seen(head, query, |column, weight| {
                    let block = Block::new(weight, largest);
                    if let Some(global) = global {
                        let global = (head * globals.len() + global) * made.columns;
                        return made.globals[global + column / 2].include(block);
                    }
                    match self.side(column, keys) {
                        Some(side) => made.sides[row * self.sides.len() + side].include(block),
                        None => {
                            let place = ((column / 2) as isize - first) as usize;
                            made.band[row * made.width + place].include(block);
                        }
                    }
                });
            }
        }
        made
    }

    /// The side key at a column.
    fn side(&self, column: usize, keys: usize) -> Option<usize> {
        match self.bands().layout.sides {
            SideColumns::Sums { .. } | SideColumns::Projections(_) => column.checked_sub(keys),
            SideColumns::Tokens(_) => self.sides.binary_search(&column).ok(),
        }
    }

    fn above(&self, below: &Level, level: u32) -> Level {
        let mut made = self.empty(level);
        let (heads, sides) = (self.layer.heads, self.sides.len());
        for head in 0..heads {
            for row in 0..below.rows {
                let (from, to) = (head * below.rows + row, head * made.rows + row / 2);
                let first = self.first_block(level - 1, row);
                let above = self.first_block(level, row / 2);
                for (place, &block) in (0..).zip(&below.band[from * below.width..][..below.width]) {
                    let place = ((first + place) >> 1) - above;
                    if let Some(into) = usize::try_from(place).ok().filter(|&place| place < made.width) {
                        made.band[to * made.width + into].include(block);
                    }
                }
                for side in 0..sides {
                    made.sides[to * sides + side].include(below.sides[from * sides + side]);
                }
            }
        }
        for (from, row) in below.globals.chunks_exact(below.columns).enumerate() {
            for (column, &block) in row.iter().enumerate() {
                made.globals[from * made.columns + column / 2].include(block);
            }
        }
        made
    }

    /// The largest block under a pixel.
    fn largest_block(&self, level: u32, head: usize, queries: Range<usize>, columns: Range<usize>) -> Block {
        let Level { rows, width, columns: all, band, sides, globals } = &self.levels[level as usize - 1];
        let keys = self.layer.keys;
        let mut largest = Block::default();
        let of_keys = columns.start >> level..columns.end.min(keys).div_ceil(1 << level);
        let shown = self.sides.partition_point(|&column| column < columns.start)
            ..self.sides.partition_point(|&column| column < columns.end);
        for row in queries.start >> level..queries.end.div_ceil(1 << level) {
            let first = self.first_block(level, row);
            let row = head * rows + row;
            let place = |column: usize| (column as isize - first).clamp(0, *width as isize) as usize;
            if columns.start < keys {
                let own = &band[row * width..][..*width];
                own[place(of_keys.start)..place(of_keys.end)]
                    .iter()
                    .for_each(|&block| largest.include(block));
            }
            let own = &sides[row * self.sides.len()..][..self.sides.len()];
            own[shown.clone()].iter().for_each(|&block| largest.include(block));
        }
        if columns.start < keys {
            let numbers = &self.bands().layout.global_queries;
            let first = numbers.partition_point(|&query| query < queries.start);
            for global in first..numbers.partition_point(|&query| query < queries.end) {
                let row = &globals[(head * numbers.len() + global) * all..][..*all];
                row[of_keys.clone()].iter().for_each(|&block| largest.include(block));
            }
        }
        largest
    }
}

impl MapCells for BandCells<'_> {
    fn largest(&self, head: usize, queries: Range<usize>, columns: Range<usize>, view: &ViewWords) -> f32 {
        let maxima = &self.maxima[head * (1 + self.layer.queries)..];
        let columns = columns.start..columns.end.min(self.layer.columns());
        if columns.is_empty() {
            return 0.0; // sums that another layer has
        }
        // rows that end within a block are those of a translation that is played
        let is_whole = queries.end == self.layer.queries || queries.end.is_multiple_of(1 << view.level);
        if view.level > 0 && is_whole && (view.level as usize) <= self.levels.len() {
            let Block(block) = self.largest_block(view.level, head, queries, columns);
            let [weight, share] = block.map(f16::to_f32);
            return match view.scale {
                2 => share,
                scale => scaled(weight, maxima, 0, scale),
            };
        }
        let mut value = 0.0f32;
        for query in queries {
            let weights = columns.clone().map(|column| self.layer.weight(head, query, column));
            value = value.max(scaled(weights.fold(0.0, f32::max), maxima, query, view.scale));
        }
        value
    }
}
