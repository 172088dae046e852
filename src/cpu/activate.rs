//! Activation functions of many values, in vectors.

use pulp::Simd;

use super::vector::sigmoid;
use crate::activation::Activation;

/// [`Activation::apply`] of every value, in place: as exact, but not equal to the last bit.
// `inline(always)` on functions of vectors: otherwise compilers move them out of the function with the vector features.
#[inline(always)]
pub fn activate<S: Simd>(simd: S, activation: Activation, values: &mut [f32]) {
    match activation {
        Activation::Identity => {}
        Activation::Silu => each(
            simd,
            values,
            #[inline(always)]
            |x| simd.mul_f32s(x, sigmoid(simd, x)),
        ),
        Activation::QuickGelu => each(
            simd,
            values,
            #[inline(always)]
            |x| {
                let steep = simd.mul_f32s(simd.splat_f32s(1.702), x);
                simd.mul_f32s(x, sigmoid(simd, steep))
            },
        ),
        // ½ (1 + tanh u) = σ(2u)
        Activation::GeluTanh => each(
            simd,
            values,
            #[inline(always)]
            |x| {
                const TWICE_SQRT_2_OVER_PI: f32 = 1.595_769;
                let cubic = simd.mul_f32s(simd.splat_f32s(0.044715), simd.mul_f32s(x, simd.mul_f32s(x, x)));
                let u = simd.mul_f32s(simd.splat_f32s(TWICE_SQRT_2_OVER_PI), simd.add_f32s(x, cubic));
                simd.mul_f32s(x, sigmoid(simd, u))
            },
        ),
        Activation::Relu => values.iter_mut().for_each(|x| *x = x.max(0.0)),
        Activation::Gelu | Activation::Sigmoid | Activation::Tanh => {
            values.iter_mut().for_each(|x| *x = activation.apply(*x));
        }
    }
}

#[inline(always)]
fn each<S: Simd>(simd: S, values: &mut [f32], function: impl Fn(S::f32s) -> S::f32s) {
    let (vectors, tail) = S::as_mut_simd_f32s(values);
    for x in vectors {
        *x = function(*x);
    }
    if !tail.is_empty() {
        let x = function(simd.partial_load_f32s(tail));
        simd.partial_store_f32s(tail, x);
    }
}

#[cfg(test)]
mod tests {
    use pulp::{Arch, WithSimd};

    use super::*;

    struct Activate<'a>(Activation, &'a mut [f32]);

    impl WithSimd for Activate<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            activate(simd, self.0, self.1);
        }
    }

    #[test]
    fn vectors_give_what_single_values_give() {
        let mut x: Vec<f32> = (-20_000..20_001).map(|i| i as f32 * 0.005).collect();
        x.extend([-1e-30, 1e-30, -1e4, 1e4, 1e30, -1e30, f32::MAX, f32::MIN, 88.8, -88.8, -0.0]);
        for (_, activation) in Activation::HUGGING_FACE_NAMES {
            let mut y = x.clone();
            Arch::new().dispatch(Activate(activation, &mut y));
            for (x, y) in x.iter().zip(y) {
                let want = activation.apply(*x);
                let tolerance = 2e-6 * want.abs().max(1.0);
                assert!((y - want).abs() <= tolerance, "{}({x}) = {y}, not {want}", activation.name());
            }
            let mut broken = [f32::NAN; 3];
            Arch::new().dispatch(Activate(activation, &mut broken));
            let hidden = activation == Activation::Relu; // max(x, 0)
            assert!(hidden || broken.iter().all(|y| y.is_nan()), "{}", activation.name());
        }
    }
}
