//! Random numbers by seed: each purpose, epoch and item has a stream of its own, so that nothing depends on an order.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Random numbers of one item of an epoch; the same on every machine.
pub(super) struct Stream(ChaCha8Rng);

impl Stream {
    /// The stream of an item. `purpose`: any number that no other use of the seed has.
    pub fn new(seed: u64, purpose: u64, epoch: u64, item: usize) -> Self {
        let mut key = [0; 32];
        for (bytes, number) in key.chunks_exact_mut(8).zip([seed, purpose, epoch]) {
            bytes.copy_from_slice(&number.to_le_bytes());
        }
        let mut random = ChaCha8Rng::from_seed(key);
        random.set_stream(item as u64);
        Self(random)
    }

    /// Uniform in 0 to 1, without 1.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Whether an event with this probability happens.
    pub fn happens(&mut self, share: f64) -> bool {
        self.unit() < share
    }

    /// A number below `bound`, or 0.
    pub fn below(&mut self, bound: usize) -> usize {
        below(&mut self.0, bound as u64) as usize
    }

    /// A number from `least` to `most`, both included.
    pub fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most.saturating_sub(least) + 1)
    }

    /// One of the items.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }
}

/// A random number below `bound`, all equally likely to within 2⁻⁶⁴ × `bound`.
pub(super) fn below(random: &mut ChaCha8Rng, bound: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(bound)) >> 64) as u64
}
