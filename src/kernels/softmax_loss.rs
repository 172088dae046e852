//! The cross-entropy of rows of logits with labels, and its gradient in place of the logits.

use super::{Access, Dispatch, Kernel, fold};

/// One workgroup per row.
pub static SOFTMAX_LOSS: Kernel = Kernel {
    name: "softmax_loss",
    wgsl: wgsl!("softmax_loss" + "masked" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Write, Access::Write],
    params: SoftmaxLossParams::FIELDS,
};

params! {
    /// Group 1.
    pub struct SoftmaxLossParams {
        /// Rows of the logits.
        pub rows: u32,
        /// Columns of the logits, without padding.
        pub vocabulary: u32,
        /// First row of these logits in labels and losses.
        pub first_row: u32,
        /// Label smoothing.
        pub smoothing: f32,
        /// Word of the step state with the factor of the gradient, f32.
        pub weight_word: u32,
    }
}

/// Shape and switches of a loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftmaxLossShape {
    /// Rows of the logits.
    pub rows: usize,
    /// Columns of the logits.
    pub vocabulary: usize,
    /// Label smoothing ε: the share of the loss that all tokens have alike.
    pub smoothing: f32,
    /// Word of the step state with the factor of the gradient, f32.
    pub weight_word: usize,
    /// Whether the gradient replaces the logits.
    pub gradient: bool,
}

/// Computes the losses of a value's rows, which are the rows from `first_row` on of all labels.
///
/// * storage: labels u32 `[all rows]`, step state u32, logits `[rows, vocabulary]`, losses `[all rows, 4]`
/// * a row of losses: −log p(label); (1 − ε) of it plus ε times the mean of −log p over the vocabulary; 1 if the label is
///   the first of the largest logits, else 0; 1
/// * gradient: `factor · (softmax − (1 − ε) · onehot − ε / vocabulary)`
/// * a label that is no token (`u32::MAX`) makes both rows zero
pub fn dispatch(shape: &SoftmaxLossShape, first_row: usize) -> Dispatch {
    let params = SoftmaxLossParams {
        rows: shape.rows as u32,
        vocabulary: shape.vocabulary as u32,
        first_row: first_row as u32,
        smoothing: shape.smoothing,
        weight_word: shape.weight_word as u32,
    };
    let constants = vec![("GRADIENT", f64::from(shape.gradient))];
    Dispatch::new(&SOFTMAX_LOSS, constants, &params, fold(shape.rows, 1))
}
