//! Mistakes in building a graph.

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
