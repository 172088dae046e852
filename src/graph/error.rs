//! Mistakes in building a graph, and weights that cannot be stored as asked for.

use crate::precision::WeightPrecision;

/// A node whose inputs do not fit together. Names the place in the model, the operator and both sizes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// An input has another shape than the operator needs.
    #[error("{op} ({place}): {input} is {got}, but {want} is needed")]
    Shape {
        /// The operator, e.g. `attention`.
        op: &'static str,
        /// Where in the model, e.g. `decoder.2.cross`.
        place: String,
        /// Which input.
        input: &'static str,
        /// Its shape.
        got: String,
        /// The shape that the others ask for.
        want: String,
    },
    /// A value too large to address.
    #[error("{op} ({place}): a value of {rows} × {width} elements is too large; use a smaller batch")]
    TooLarge {
        /// The operator.
        op: &'static str,
        /// Where in the model.
        place: String,
        /// Rows of the value.
        rows: usize,
        /// Its width.
        width: usize,
    },
}

/// A weight that is finite, but beyond what its precision can hold: stored, it would be infinite, and everything after it
/// noise.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("the weight {weight:?} has the value {value}, which {precision} cannot hold; use `--weights f32`")]
pub struct UnstorableWeight {
    /// Its entry in the [`WeightTable`](super::WeightTable).
    pub weight: String,
    /// The value.
    pub value: f32,
    /// The precision asked for.
    pub precision: WeightPrecision,
}
