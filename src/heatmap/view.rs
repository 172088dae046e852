//! The part of a grid of maps that a picture shows, and how.

use std::fmt;
use std::str::FromStr;

use bytemuck::Zeroable;

use super::{ColourMap, GridShape, HeatmapError};
use crate::kernels::heatmap::ViewWords;

/// The value that a colour stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scale {
    /// The weight relative to the map's largest.
    #[default]
    Linear,
    /// The logarithm of the weight, from 10⁻⁴ to 1.
    Logarithmic,
    /// The weight relative to its row's largest.
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

/// The shown part of a grid. The grid is measured in cells, with a gap between maps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// The picture's width and height, pixels.
    pub size: [u32; 2],
    /// The point of the grid in the picture's upper left corner, x and y, in cells.
    pub origin: [f32; 2],
    /// Width and height of a cell in pixels. Below 1, a pixel shows the largest weight that it covers. From one half down, it
    /// shows the largest weight of whole blocks of cells; a block is between half a pixel and a pixel large.
    pub cell: [f32; 2],
    /// Gap between maps, in cells.
    pub gap: f32,
    /// Number of shown queries of each map, from the first. Lets a viewer play a translation.
    pub rows: u32,
    /// The value that a colour stands for.
    pub scale: Scale,
    /// The colours.
    pub colours: ColourMap,
    /// Colour outside the maps: red, green, blue, opacity.
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

/// Pixels between maps in a view that fits the whole grid.
const GAP: f32 = 6.0;

impl View {
    /// The largest number of pixels in a picture: 256 MiB. A device may have memory for fewer.
    pub const MAX_PIXELS: u32 = 1 << 26;

    /// A view of the whole grid in the middle of a picture, with square cells of at most 64 pixels.
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

    /// The cell at a point of the picture, in pixels.
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

    /// Enlarges cells by a factor around a point of the picture.
    pub fn zoom(&mut self, about: [f32; 2], factor: f32) {
        for (axis, about) in about.into_iter().enumerate() {
            self.origin[axis] += about / self.cell[axis] * (1.0 - 1.0 / factor);
            self.cell[axis] *= factor;
        }
    }

    /// Moves the grid by a distance in pixels, such as a pointer's.
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
