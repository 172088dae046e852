//! A step of AdamW: Kingma & Ba 2015, algorithm 1, with the weight decay of Loshchilov & Hutter 2019, algorithm 2.

use super::{Access, Dispatch, Kernel, fold};

/// Four words per invocation.
pub static ADAM: Kernel = Kernel {
    name: "adam",
    wgsl: wgsl!("adam" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Write, Access::Write, Access::Write, Access::Write],
    params: AdamParams::FIELDS,
};

params! {
    /// Group 1.
    pub struct AdamParams {
        /// Quads of each buffer.
        pub quads: u32,
        /// Decay of the first moment.
        pub beta1: f32,
        /// 1 − beta1, rounded once.
        pub rest1: f32,
        /// Decay of the second moment.
        pub beta2: f32,
        /// 1 − beta2, rounded once.
        pub rest2: f32,
        /// Number added to the root of the second moment.
        pub epsilon: f32,
        /// Share of a weight that a step of the rate 1 takes away.
        pub weight_decay: f32,
        /// Word of the step state with the learning rate.
        pub rate_word: u32,
        /// Word of the step state with 1 / (1 − beta1ᵗ).
        pub correction1_word: u32,
        /// Word of the step state with 1 / (1 − beta2ᵗ).
        pub correction2_word: u32,
    }
}

/// The constants of Adam, and where its numbers of the step are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamShape {
    /// Decay of the first moment, 0 … 1. In f64, because 1 − β rounds too.
    pub beta1: f64,
    /// Decay of the second moment, 0 … 1.
    pub beta2: f64,
    /// Number added to the root of the second moment; positive, because padding has the root 0.
    pub epsilon: f32,
    /// Share of a weight that a step of the rate 1 takes away, decoupled from the gradient.
    pub weight_decay: f32,
    /// Word of the step state with the learning rate, f32.
    pub rate_word: usize,
    /// Words of the step state with 1 / (1 − beta1ᵗ) and 1 / (1 − beta2ᵗ), f32; t counts from 1.
    pub correction_words: [usize; 2],
}

/// Updates weights, and sets their gradient to zero. The number of words is a multiple of four. Words whose weight and
/// gradient are zero, as padding, stay zero.
///
/// * storage: step state u32, clip state f32 `[2]` (norm, factor of the gradient), weight, gradient, first moment, second
///   moment f32 `[words]`
pub fn dispatch(shape: &AdamShape, words: usize) -> Dispatch {
    let [correction1, correction2] = shape.correction_words;
    let params = AdamParams {
        quads: (words / 4) as u32,
        beta1: shape.beta1 as f32,
        rest1: (1.0 - shape.beta1) as f32,
        beta2: shape.beta2 as f32,
        rest2: (1.0 - shape.beta2) as f32,
        epsilon: shape.epsilon,
        weight_decay: shape.weight_decay,
        rate_word: shape.rate_word as u32,
        correction1_word: correction1 as u32,
        correction2_word: correction2 as u32,
    };
    Dispatch::new(&ADAM, Vec::new(), &params, fold(words / 4, 64))
}
