//! Activations by themselves, and their gradients

use pulp::{Arch, Simd, WithSimd};

use super::activate::activate;
use super::parallel::for_each_row;
use super::vector::in_widest_vectors;
use crate::activation::Activation;

/// Cost of an element, multiplications.
const WORK: usize = 16;

/// Elements at a time.
const BLOCK: usize = 256;

/// `y = activation(z)`, or `activation(z) ⊙ factor`.
pub fn activated(z: &[f32], activation: Activation, factor: Option<&[f32]>, y: &mut [f32]) {
    let arch = Arch::new();
    for_each_piece(y, |start, y| {
        y.copy_from_slice(&z[start..][..y.len()]);
        let factor = factor.map(|factor| &factor[start..]);
        arch.dispatch(Activate { activation, factor, y });
    });
}

/// `dz = dy ⊙ activation'(z)`, or `dy ⊙ factor ⊙ activation'(z)`.
pub fn activate_gradient(
    dy: &[f32],
    z: &[f32],
    activation: Activation,
    factor: Option<&[f32]>,
    dz: &mut [f32],
) {
    for_each_piece(dz, |start, dz| {
        let range = start..start + dz.len();
        let (dy, z, factor) = (&dy[range.clone()], &z[range.clone()], factor.map(|factor| &factor[range]));
        in_widest_vectors(
            #[inline(always)]
            || {
                let gradients = dz.iter_mut().zip(dy).zip(z);
                match activation {
                    Activation::Relu => {
                        gradients.for_each(|((dz, dy), z)| *dz = if *z > 0.0 { *dy } else { 0.0 })
                    }
                    other => gradients.for_each(|((dz, dy), z)| *dz = dy * other.derivative(*z)),
                }
                if let Some(factor) = factor {
                    dz.iter_mut().zip(factor).for_each(|(dz, factor)| *dz *= factor);
                }
            },
        );
    });
}

struct Activate<'a> {
    activation: Activation,
    factor: Option<&'a [f32]>,
    /// z at first.
    y: &'a mut [f32],
}

impl WithSimd for Activate<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        activate(simd, self.activation, self.y);
        if let Some(factor) = self.factor {
            self.y.iter_mut().zip(factor).for_each(|(y, factor)| *y *= factor);
        }
    }
}

fn for_each_piece(data: &mut [f32], each: impl Fn(usize, &mut [f32]) + Sync) {
    let whole = data.len() / BLOCK * BLOCK;
    let (blocks, tail) = data.split_at_mut(whole);
    for_each_row(blocks, BLOCK, WORK * BLOCK, |block, values| each(block * BLOCK, values));
    each(whole, tail);
}
