//! What part of a grid of maps is shown, and how.

use std::fmt;
use std::str::FromStr;

use bytemuck::Zeroable;

use super::{ColourMap, GridShape, HeatmapError};
use crate::kernels::heatmap::ViewWords;

/// What a colour is a measure of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scale {
    /// The share of the map's largest weight.
    #[default]
    Linear,
    /// The logarithm of the weight, from 10⁻⁴ to 1.
    Logarithmic,
    /// The share of its row's largest weight.
    Rows,
}

impl Scale {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Linear, Self::Logarithmic, Self::Rows];
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Linear => "linear",
            Self::Logarithmic => "logarithmic",
            Self::Rows => "rows",
        })
    }
}

impl FromStr for Scale {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.into_iter().find(|scale| scale.to_string() == text);
        named.ok_or("linear, logarithmic or rows is needed")
    }
}

/// What part of the grid is shown, and how. The grid is measured in cells; between its maps there is a gap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// The picture's width and height, pixels.
    pub size: [u32; 2],
    /// The grid's point in the upper left corner, x and y, cells.
    pub origin: [f32; 2],
    /// Pixels of a cell, width and height. Where it is below 1, a pixel shows the largest weight that it covers; from one half
    /// down, the largest of whole blocks of cells, which are as large as a pixel or up to half as large.
    pub cell: [f32; 2],
    /// Cells between maps.
    pub gap: f32,
    /// How many queries of each map are shown, from the first: for watching a translation appear.
    pub rows: u32,
    /// What a colour is a measure of.
    pub scale: Scale,
    /// The colours.
    pub colours: ColourMap,
    /// What is no map: red, green, blue, opacity.
    pub background: [u8; 4],
}

/// A cell of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cell {
    /// Row of the grid.
    pub layer: usize,
    /// Column of the grid.
    pub head: usize,
    /// Row of the map.
    pub query: usize,
    /// Column of the map.
    pub key: usize,
}

/// Pixels between maps that fit as a whole.
const GAP: f32 = 6.0;

impl View {
    /// The most pixels of a picture, 256 MiB of them. A device may have room for fewer.
    pub const MAX_PIXELS: u32 = 1 << 26;

    /// The whole grid in the middle of a picture, with cells as high as wide, 64 pixels at most.
    pub fn fit(shape: GridShape, size: [u32; 2]) -> Self {
        let counts = [shape.heads, shape.layers];
        let cells = [shape.keys, shape.queries];
        let gaps = counts.map(|count| GAP * count.saturating_sub(1) as f32);
        let room = |axis: usize| {
            let room = (size[axis] as f32 - gaps[axis]).max(1.0);
            room / (counts[axis] * cells[axis]).max(1) as f32
        };
        let cell = room(0).min(room(1)).min(64.0);
        let cell = if cell >= 1.0 { cell.floor() } else { cell };
        let origin = |axis: usize| {
            let taken = (counts[axis] * cells[axis]) as f32 * cell + gaps[axis];
            -((size[axis] as f32 - taken) / 2.0).max(0.0).floor() / cell
        };
        Self {
            size,
            origin: [origin(0), origin(1)],
            cell: [cell; 2],
            gap: GAP / cell,
            rows: u32::MAX,
            scale: Scale::default(),
            colours: ColourMap::default(),
            background: [0; 4],
        }
    }

    /// The cell under a point of the picture, pixels.
    pub fn at(&self, shape: GridShape, pixel: [f32; 2]) -> Option<Cell> {
        let place = |axis: usize, cells: usize, count: usize| {
            let point = self.origin[axis] + pixel[axis] / self.cell[axis];
            let pitch = cells as f32 + self.gap;
            let map = (point / pitch).floor();
            let within = point - map * pitch;
            let inside = map >= 0.0 && map < count as f32 && within < cells as f32;
            inside.then_some((map as usize, (within.max(0.0) as usize).min(cells.saturating_sub(1))))
        };
        let (head, key) = place(0, shape.keys, shape.heads)?;
        let (layer, query) = place(1, shape.queries, shape.layers)?;
        (query < self.rows as usize).then_some(Cell { layer, head, query, key })
    }

    /// Makes cells larger by a factor; what is under a point of the picture stays there.
    pub fn zoom(&mut self, about: [f32; 2], factor: f32) {
        for (axis, about) in about.into_iter().enumerate() {
            self.origin[axis] += about / self.cell[axis] * (1.0 - 1.0 / factor);
            self.cell[axis] *= factor;
        }
    }

    /// Moves the grid along with a pointer, pixels.
    pub fn pan(&mut self, by: [f32; 2]) {
        for (axis, by) in by.into_iter().enumerate() {
            self.origin[axis] -= by / self.cell[axis];
        }
    }

    pub(super) fn words(&self, shape: GridShape) -> Result<ViewWords, HeatmapError> {
        let [width, height] = self.size;
        let pixels = width.saturating_mul(height);
        if pixels == 0 || pixels > Self::MAX_PIXELS {
            return Err(HeatmapError::Size { width, height, most: Self::MAX_PIXELS });
        }
        let numbers = [
            ("origin", self.origin[0], f32::NEG_INFINITY, "a number"),
            ("origin", self.origin[1], f32::NEG_INFINITY, "a number"),
            ("cell", self.cell[0], f32::MIN_POSITIVE, "a number above 0"),
            ("cell", self.cell[1], f32::MIN_POSITIVE, "a number above 0"),
            ("gap", self.gap, 0.0, "0 or more"),
        ];
        for (what, value, least, want) in numbers {
            if !value.is_finite() || value < least {
                return Err(HeatmapError::View { what, value, want });
            }
        }
        let words = ViewWords {
            origin: self.origin,
            step: self.cell.map(|cell| 1.0 / cell),
            gap: self.gap,
            rows: self.rows,
            scale: match self.scale {
                Scale::Linear => 0,
                Scale::Logarithmic => 1,
                Scale::Rows => 2,
            },
            background: self.background,
            ..ViewWords::zeroed()
        };
        Ok(words.leveled(shape))
    }
}
