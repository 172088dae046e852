//! Errors of painting.

use crate::gpu::GpuError;

/// An error of painting.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum HeatmapError {
    /// There are no layers, or the layers have no heads, queries or keys.
    #[error("there is no attention to paint")]
    Empty,
    /// The layers of a grid differ in shape.
    #[error("layers {first} and {other} cannot be in one picture: they differ in heads, queries or keys")]
    Uneven {
        /// The first layer.
        first: usize,
        /// The one that differs.
        other: usize,
    },
    /// The picture has no pixels, or more than [`MAX_PIXELS`](super::View::MAX_PIXELS).
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
    /// A number of the view is out of range.
    #[error("a view's {what} is {value}, and has to be {want}")]
    View {
        /// The number's name.
        what: &'static str,
        /// Its value.
        value: f32,
        /// The valid values.
        want: &'static str,
    },
    /// The device failed.
    #[error(transparent)]
    Gpu(#[from] GpuError),
}
