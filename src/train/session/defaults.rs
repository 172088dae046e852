//! Defaults by the amount of data.

use super::super::new_model::NewModel;

/// A shape of a new model with the numbers that train it well.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Size {
    pub name: &'static str,
    /// Number of pairs up to which it is the default.
    pairs: usize,
    d_model: usize,
    heads: usize,
    layers: [usize; 2],
    ffn: usize,
    /// Target tokens of a batch. Values of larger ones leave the processor's cache.
    pub batch_tokens: usize,
    /// Batches of a step.
    pub accumulate: usize,
    pub warmup: u64,
    pub peak: f64,
    pub dropout: f64,
}

const SIZES: [Size; 3] = [
    Size {
        name: "tiny",
        pairs: 20_000,
        d_model: 192,
        heads: 4,
        layers: [2, 2],
        ffn: 768,
        batch_tokens: 768,
        accumulate: 1,
        warmup: 100,
        peak: 2e-3,
        dropout: 0.1,
    },
    Size {
        name: "small",
        pairs: 500_000,
        d_model: 256,
        heads: 8,
        layers: [4, 3],
        ffn: 1024,
        batch_tokens: 1024,
        accumulate: 2,
        warmup: 400,
        peak: 1.2e-3,
        dropout: 0.1,
    },
    Size {
        name: "base",
        pairs: usize::MAX,
        d_model: 512,
        heads: 8,
        layers: [6, 6],
        ffn: 2048,
        batch_tokens: 1024,
        accumulate: 4,
        warmup: 4000,
        peak: 7e-4,
        dropout: 0.1,
    },
];

/// Numbers for a model that has learned before: small steps, so that it forgets little.
pub(super) const FINE_TUNING: Size =
    Size { name: "fine-tuning", batch_tokens: 1024, warmup: 50, peak: 2e-4, dropout: 0.1, ..SIZES[0] };

/// Positions of a new model.
const POSITIONS: usize = 256;

impl Size {
    /// The default for a number of pairs.
    pub fn of_pairs(pairs: usize) -> Self {
        SIZES.into_iter().find(|size| pairs <= size.pairs).unwrap_or(SIZES[2])
    }

    pub fn named(name: &str) -> Option<Self> {
        SIZES.into_iter().find(|size| size.name == name)
    }

    /// The size whose numbers suit a width.
    pub fn of_width(d_model: usize) -> Self {
        SIZES.into_iter().find(|size| d_model <= size.d_model).unwrap_or(SIZES[2])
    }

    pub fn new_model(self, vocabulary_size: usize, dropout: f64) -> NewModel {
        NewModel {
            d_model: self.d_model,
            heads: self.heads,
            encoder_layers: self.layers[0],
            decoder_layers: self.layers[1],
            ffn: self.ffn,
            max_positions: POSITIONS,
            vocabulary_size,
            dropout,
            tied: true,
        }
    }
}

/// Number of tokens of a new vocabulary: more text shows more words often enough to learn them.
pub(super) fn vocabulary_size(pairs: usize) -> usize {
    let tokens = 30.0 * (pairs as f64).sqrt();
    ((tokens / 100.0).round() as usize * 100).clamp(1000, 32_000)
}

/// Minutes of a training whose end the user does not choose.
pub(super) fn minutes(pairs: usize) -> f64 {
    (pairs as f64 / 500.0).round().clamp(4.0, 120.0)
}

/// Number of pairs that are held back if there is no dev set.
pub(super) fn held_back(pairs: usize) -> usize {
    (pairs / 20).clamp(1, 500)
}

/// Steps between tests: an epoch of so many steps, within limits.
pub(super) fn test_steps(steps_of_epoch: usize) -> u64 {
    (steps_of_epoch as u64).next_multiple_of(10).clamp(50, 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_grow_with_the_data() {
        let of =
            |pairs| (Size::of_pairs(pairs).name, vocabulary_size(pairs), minutes(pairs), held_back(pairs));
        assert_eq!(of(2), ("tiny", 1000, 4.0, 1));
        assert_eq!(of(2_000), ("tiny", 1300, 4.0, 100));
        assert_eq!(of(160_000), ("small", 12_000, 120.0, 500));
        assert_eq!(of(5_000_000), ("base", 32_000, 120.0, 500));
    }

    #[test]
    fn every_default_is_a_sound_model() {
        for size in SIZES {
            size.new_model(1000, 0.1).check().unwrap();
            assert_eq!(Size::of_width(size.d_model), size);
        }
    }
}
