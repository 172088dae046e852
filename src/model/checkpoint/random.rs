//! Seeded random tensors, for a configuration without weights.

use std::ops::Range;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Makes values up. Each depends only on the seed, the tensor's name and shape, and its index: not on the read order or
/// the machine.
#[derive(Clone, Debug)]
pub(super) struct RandomTensors {
    pub seed: u64,
    /// Names of embedding tables.
    pub tables: Vec<&'static str>,
}

impl RandomTensors {
    /// Fills elements of a tensor (row-major indices). Scales and variances of norms are 1, biases 0. Matrices are uniform in ±√(6 /
    /// (rows + columns)) (Glorot & Bengio 2010), embeddings in ±√(3 / columns): their variance 1 / columns gives logits
    /// of about 1 if the table is also the output projection.
    pub fn fill(&self, name: &str, shape: &[usize], elements: Range<usize>, values: &mut [f32]) {
        let bound = match *shape {
            [rows, columns] if rows > 1 => {
                let variance = match self.tables.contains(&name) {
                    true => 1.0 / columns as f64,
                    false => 2.0 / (rows + columns) as f64,
                };
                (3.0 * variance).sqrt() as f32
            }
            _ => {
                return values.fill(
                    if ["weight", "scale", "running_var"].iter().any(|ending| name.ends_with(ending)) {
                        1.0
                    } else {
                        0.0
                    },
                );
            }
        };
        let mut key = [0; 32];
        key[..8].copy_from_slice(&self.seed.to_le_bytes());
        let mut random = ChaCha8Rng::from_seed(key);
        random.set_stream(stream(name));
        random.set_word_pos(elements.start as u128);
        for value in values {
            // 24 bits: the precision of an f32 in [-1, 1)
            *value = bound * ((random.next_u32() >> 8) as f32 / (1 << 23) as f32 - 1.0);
        }
    }
}

/// FNV-1a of the tensor's name.
fn stream(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
