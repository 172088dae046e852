//! Attention maps as pixels: one head, or a grid of all layers and heads. They are painted from the buffers of a GPU
//! (`shaders/heatmap.wgsl`), or on the CPU; both give the same pixels within rounding.
//!
//! [`Painter`] paints on a [`Device`](crate::Device), for pages and windows. [`paint()`] needs no device and suits files. A
//! [`View`] selects what is shown, and how.

mod band_cells;
mod colours;
mod error;
mod painter;
mod view;

pub use crate::kernels::heatmap::GridShape;
pub use colours::ColourMap;
pub use error::HeatmapError;
pub use painter::{Maps, Painter, paint};
pub use view::{Cell, Scale, View};

use crate::model::LayerAttention;

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pixels {
    /// Pixels of a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Row by row from the top, four bytes each.
    pub rgba: Vec<u8>,
}

/// The shape of the grid of some layers. Layers with sums of blocks have more columns than others; a grid is as wide as the
/// widest.
///
/// # Errors
/// [`HeatmapError::Empty`], [`HeatmapError::Uneven`]
pub fn shape_of(layers: &[&LayerAttention]) -> Result<GridShape, HeatmapError> {
    let first = layers.first().ok_or(HeatmapError::Empty)?;
    let keys = layers.iter().map(|layer| layer.columns()).max().unwrap_or(0);
    let shape = GridShape { layers: layers.len(), heads: first.heads, queries: first.queries, keys };
    if shape.heads == 0 || shape.queries == 0 || shape.keys == 0 {
        return Err(HeatmapError::Empty);
    }
    for layer in layers {
        let same = (layer.heads, layer.queries, layer.keys) == (shape.heads, shape.queries, first.keys);
        if !same || layer.weights.len() != shape.heads * shape.queries * layer.stored_columns() {
            return Err(HeatmapError::Uneven { first: first.layer, other: layer.layer });
        }
    }
    Ok(shape)
}
