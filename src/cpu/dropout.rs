//! `y = z + x ⊙ mask / (1 - p)`

use pulp::{Arch, NullaryFnOnce};

use super::parallel::for_each_block;
use super::philox::philox;

/// The numbers that decide what a dropout drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropoutKey {
    /// Seed of the training.
    pub seed: [u32; 2],
    /// Number of the pass, which no other pass has.
    pub pass: [u32; 2],
    /// Number of the dropout in the model.
    pub place: u32,
}

/// A dropout's share of zeros. Srivastava et al. 2014; Vaswani et al. 2017, section 5.4.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropoutShare {
    /// A value is dropped if its random word is smaller.
    pub threshold: u32,
    /// Factor of the values that stay: `1 / (1 - p)`.
    pub factor: f32,
}

impl DropoutShare {
    /// The share `p`, from 0 to below 1.
    pub fn new(p: f32) -> Self {
        let threshold = (f64::from(p) * 2f64.powi(32)).round() as u32;
        Self { threshold, factor: (1.0 / (1.0 - f64::from(p))) as f32 }
    }

    /// The factor of an element: 0 if it is dropped.
    pub fn factor_of(self, key: DropoutKey, element: u32) -> f32 {
        let DropoutKey { seed, pass, place } = key;
        let words = philox::<1>([element / 4, place, pass[0], pass[1]], seed);
        if words[element as usize % 4][0] < self.threshold { 0.0 } else { self.factor }
    }
}

/// Elements at a time.
const BLOCK: usize = 64;

/// Cost of an element, multiplications.
const WORK: usize = 8;

/// Computes `y = z + x ⊙ mask · factor`. All have the same number of elements.
pub fn dropout(x: &[f32], z: Option<&[f32]>, share: DropoutShare, key: DropoutKey, y: &mut [f32]) {
    assert_eq!(x.len(), y.len(), "x and y");
    let arch = Arch::new();
    let whole = y.len() / BLOCK * BLOCK;
    let (blocks, tail) = y.split_at_mut(whole);
    let drop = |start: usize, y: &mut [f32]| {
        let range = start..start + y.len();
        let z = z.map(|z| &z[range.clone()]);
        arch.dispatch(Drop { x: &x[range], z, share, key, start, y });
    };
    for_each_block(blocks, BLOCK, WORK * BLOCK, |block, y| drop(block * BLOCK, y));
    drop(whole, tail);
}

struct Drop<'a> {
    x: &'a [f32],
    z: Option<&'a [f32]>,
    share: DropoutShare,
    key: DropoutKey,
    /// Number of the first element, a multiple of four.
    start: usize,
    y: &'a mut [f32],
}

impl NullaryFnOnce for Drop<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { x, z, share, key: DropoutKey { seed, pass, place }, start, y } = self;
        const LANES: usize = BLOCK / 4;
        for (index, (y, x)) in y.chunks_mut(BLOCK).zip(x.chunks(BLOCK)).enumerate() {
            let counter = (start + index * BLOCK) as u32 / 4;
            let words = match share.threshold {
                0 => [[u32::MAX; LANES]; 4],
                _ => philox::<LANES>([counter, place, pass[0], pass[1]], seed),
            };
            let mut factors = [0.0; BLOCK];
            for (word, words) in words.iter().enumerate() {
                for (lane, &random) in words.iter().enumerate() {
                    factors[4 * lane + word] = if random < share.threshold { 0.0 } else { share.factor };
                }
            }
            for ((y, x), factor) in y.iter_mut().zip(x).zip(factors) {
                *y = x * factor;
            }
        }
        if let Some(z) = z {
            y.iter_mut().zip(z).for_each(|(y, z)| *y += z);
        }
    }
}
