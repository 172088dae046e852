//! Why there is no picture.

use crate::gpu::GpuError;

/// Why there is no picture.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum HeatmapError {
    /// There are no layers, or no heads, queries or keys in them.
    #[error("there is no attention to paint")]
    Empty,
    /// The layers of a grid have to be alike.
    #[error("layers {first} and {other} cannot be in one picture: they differ in heads, queries or keys")]
    Uneven {
        /// The first layer.
        first: usize,
        /// The one that differs.
        other: usize,
    },
    /// A picture has from 1 to [`MAX_PIXELS`](super::View::MAX_PIXELS) pixels.
    #[error(
        "a picture of {width} x {height} pixels cannot be painted: it has to have 1 to {most}; make it smaller"
    )]
    Size {
        /// Pixels of a row.
        width: u32,
        /// Rows.
        height: u32,
        /// The most pixels in all.
        most: u32,
    },
    /// A view's numbers are no place to look at.
    #[error("a view's {what} is {value}, and has to be {want}")]
    View {
        /// Which number.
        what: &'static str,
        /// What it is.
        value: f32,
        /// What it may be.
        want: &'static str,
    },
    /// The device failed.
    #[error(transparent)]
    Gpu(#[from] GpuError),
}
