//! `y = earlier + x ⊙ mask / (1 − probability)`, with random words that seed, step, place and element determine:
//! Philox4x32-10, Salmon et al. 2011. The key is the seed; the counter is (element / 4, place, step), and an element takes
//! word `element % 4`.

use super::{Access, Dispatch, Kernel, fold, stride};

/// Four elements per invocation.
pub static DROPOUT: Kernel = Kernel {
    name: "dropout",
    wgsl: wgsl!("dropout" + "random_words" + "philox" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Read, Access::Write],
    params: DropoutParams::FIELDS,
};

params! {
    /// Group 1.
    pub struct DropoutParams {
        /// Rows of each value.
        pub rows: u32,
        /// Elements per row, without padding.
        pub width: u32,
        /// Place in the model.
        pub place: u32,
        /// Random words below it drop their element.
        pub threshold: u32,
        /// Factor of kept elements.
        pub factor: f32,
        /// Whether there is an addend.
        pub has_earlier: u32,
    }
}

/// A dropout of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    /// Probability that an element is dropped: 0 or more, below 1.
    pub probability: f32,
    /// Place in the model: each place has its own random words.
    pub place: u32,
}

impl Dropout {
    /// Random words below it drop their element: probability · 2³², rounded.
    pub fn threshold(&self) -> u32 {
        (f64::from(self.probability) * 2f64.powi(32)).round() as u32
    }

    /// Factor of kept elements: 1 / (1 − probability).
    pub fn factor(&self) -> f32 {
        (1.0 / (1.0 - f64::from(self.probability))) as f32
    }
}

/// Drops elements, or passes a gradient through the same mask. With the probability 0 it is an addition.
///
/// * storage: x, earlier `[rows, width]`, step state u32 (first words: seed low, seed high, step low, step high), y
///   `[rows, width]`
/// * any other buffer than y can be bound for an addend that is not there
pub fn dispatch(rows: usize, width: usize, dropout: Dropout, earlier: bool) -> Dispatch {
    let params = DropoutParams {
        rows: rows as u32,
        width: width as u32,
        place: dropout.place,
        threshold: dropout.threshold(),
        factor: dropout.factor(),
        has_earlier: earlier.into(),
    };
    Dispatch::new(&DROPOUT, Vec::new(), &params, fold(rows * stride(width) / 4, 64))
}
