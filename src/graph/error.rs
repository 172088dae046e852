//! Errors of building a graph, and weights that a precision cannot hold.

use crate::precision::WeightPrecision;

/// A node whose inputs do not fit together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// An input has the wrong shape.
    #[error("{op} ({place}): {input} is {got}, but {want} is needed")]
    Shape {
        /// The operator, e.g. `attention`.
        op: &'static str,
        /// Place in the model, e.g. `decoder.2.cross`.
        place: String,
        /// Name of the input.
        input: &'static str,
        /// Shape of the input.
        got: String,
        /// Shape that the operator needs.
        want: String,
    },
    /// An operator that cannot be trained.
    #[error("{op} ({place}) has no gradient: models with it run here, but cannot be trained")]
    NoGradient {
        /// The operator.
        op: &'static str,
        /// Place in the model.
        place: String,
    },
    /// A value is too large to address.
    #[error("{op} ({place}): a value of {rows} × {width} elements is too large; use a smaller batch")]
    TooLarge {
        /// The operator.
        op: &'static str,
        /// Place in the model.
        place: String,
        /// Rows of the value.
        rows: usize,
        /// Width of the value.
        width: usize,
    },
}

/// A weight beyond the range of its precision: it would be stored as infinity, or in 8 bits make zeros of its row.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("the weight {weight:?} has the value {value}, which {precision} cannot hold; use `--weights f32`")]
pub struct UnstorableWeight {
    /// Name of its entry in the [`WeightTable`](super::WeightTable).
    pub weight: String,
    /// Value of the weight.
    pub value: f32,
    /// Requested precision.
    pub precision: WeightPrecision,
}
