//! Inner products of f32 with f16 numbers, on x86-64 processors that widen f16 vectors by one instruction. The results
//! are those of [`inner_products`](super::vector::inner_products) on the widened numbers, to the last bit.

use half::f16;

/// Whether the processor has the instruction for vectors as wide as those that the other products have.
pub fn widens() -> bool {
    #[cfg(target_arch = "x86_64")]
    let has = x86::Width::detect().is_some();
    #[cfg(not(target_arch = "x86_64"))]
    let has = false;
    has
}

/// All `ROWS × OUTPUTS` inner products of `x` and `w`, slices of equal length. Only where the processor [`widens`].
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "the processor was asked for the instructions")]
pub fn products<const ROWS: usize, const OUTPUTS: usize>(
    x: [&[f32]; ROWS],
    w: [&[f16]; OUTPUTS],
) -> [[f32; OUTPUTS]; ROWS] {
    // SAFETY: `detect` has found the features.
    match x86::Width::detect() {
        Some(x86::Width::Sixteen) => unsafe { x86::sixteen::products(x, w) },
        Some(x86::Width::Eight) => unsafe { x86::eight::products(x, w) },
        None => unreachable!("the caller asks `widens` first"),
    }
}

/// For other processors, which never come here.
#[cfg(not(target_arch = "x86_64"))]
pub fn products<const ROWS: usize, const OUTPUTS: usize>(
    _: [&[f32]; ROWS],
    _: [&[f16]; OUTPUTS],
) -> [[f32; OUTPUTS]; ROWS] {
    unreachable!("the caller asks `widens` first")
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use pulp::Arch;

    /// Numbers of a vector.
    #[derive(Clone, Copy)]
    pub enum Width {
        Eight,
        Sixteen,
    }

    impl Width {
        /// The width of the other products' vectors, so that the order of sums is the same.
        pub fn detect() -> Option<Self> {
            match Arch::new() {
                Arch::V4(_) => Some(Self::Sixteen),
                Arch::V3(_) if std::arch::is_x86_feature_detected!("f16c") => Some(Self::Eight),
                _ => None,
            }
        }
    }

    /// Products in vectors of `$lanes` numbers: `$sum_lanes` adds the lanes of a vector in halves, as pulp does.
    macro_rules! products {
        ($features:literal, $lanes:literal, $zero:path, $load:path, $load_halves:path, $widen:path, $multiply_add:path, $sum_lanes:path) => {
            #[target_feature(enable = $features)]
            #[expect(unsafe_code, reason = "loads take pointers")]
            pub fn products<const ROWS: usize, const OUTPUTS: usize>(
                x: [&[f32]; ROWS],
                w: [&[f16]; OUTPUTS],
            ) -> [[f32; OUTPUTS]; ROWS] {
                let inputs = w[0].len();
                // equal lengths for the compiler: no bounds checks below
                let (x, w) = (x.map(|x| &x[..inputs]), w.map(|w| &w[..inputs]));
                let mut sums = [[$zero(); OUTPUTS]; ROWS];
                let whole = inputs - inputs % $lanes;
                for first in (0..whole).step_by($lanes) {
                    let mut widened = [$zero(); OUTPUTS];
                    for output in 0..OUTPUTS {
                        // SAFETY: `$lanes` numbers from `first` on are within the slice.
                        widened[output] =
                            $widen(unsafe { $load_halves(w[output].as_ptr().add(first).cast()) });
                    }
                    for row in 0..ROWS {
                        // SAFETY: as above
                        let x = unsafe { $load(x[row].as_ptr().add(first)) };
                        for output in 0..OUTPUTS {
                            sums[row][output] = $multiply_add(x, widened[output], sums[row][output]);
                        }
                    }
                }
                if whole < inputs {
                    for output in 0..OUTPUTS {
                        let mut rest = [f16::ZERO; $lanes];
                        rest[..inputs - whole].copy_from_slice(&w[output][whole..]);
                        // SAFETY: `rest` has `$lanes` numbers.
                        let w = $widen(unsafe { $load_halves(rest.as_ptr().cast()) });
                        for row in 0..ROWS {
                            let mut rest = [0.0_f32; $lanes];
                            rest[..inputs - whole].copy_from_slice(&x[row][whole..]);
                            // SAFETY: as above
                            let x = unsafe { $load(rest.as_ptr()) };
                            sums[row][output] = $multiply_add(x, w, sums[row][output]);
                        }
                    }
                }
                let mut products = [[0.0; OUTPUTS]; ROWS];
                for row in 0..ROWS {
                    for output in 0..OUTPUTS {
                        products[row][output] = $sum_lanes(sums[row][output]);
                    }
                }
                products
            }
        };
    }

    pub mod sixteen {
        use std::arch::x86_64::{
            __m512, _mm256_add_ps, _mm256_castpd_ps, _mm256_loadu_si256, _mm512_castps_pd,
            _mm512_castps512_ps256, _mm512_cvtph_ps, _mm512_extractf64x4_pd, _mm512_fmadd_ps,
            _mm512_loadu_ps, _mm512_setzero_ps,
        };

        use half::f16;

        #[target_feature(enable = "avx512f,avx2,fma")]
        fn sum_lanes(sums: __m512) -> f32 {
            let high = _mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(sums)));
            super::eight::sum_lanes(_mm256_add_ps(_mm512_castps512_ps256(sums), high))
        }

        products!(
            "avx512f,avx2,fma",
            16,
            _mm512_setzero_ps,
            _mm512_loadu_ps,
            _mm256_loadu_si256,
            _mm512_cvtph_ps,
            _mm512_fmadd_ps,
            sum_lanes
        );
    }

    pub mod eight {
        use std::arch::x86_64::{
            __m256, _mm_add_ps, _mm_add_ss, _mm_cvtss_f32, _mm_loadu_si128, _mm_movehl_ps, _mm_shuffle_ps,
            _mm256_castps256_ps128, _mm256_cvtph_ps, _mm256_extractf128_ps, _mm256_fmadd_ps, _mm256_loadu_ps,
            _mm256_setzero_ps,
        };

        use half::f16;

        #[target_feature(enable = "avx2,fma")]
        pub fn sum_lanes(sums: __m256) -> f32 {
            let four = _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps::<1>(sums));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<0b0001>(two, two)))
        }

        products!(
            "avx2,fma,f16c",
            8,
            _mm256_setzero_ps,
            _mm256_loadu_ps,
            _mm_loadu_si128,
            _mm256_cvtph_ps,
            _mm256_fmadd_ps,
            sum_lanes
        );
    }
}

#[cfg(test)]
mod tests {
    use pulp::{Arch, Simd, WithSimd};

    use super::*;
    use crate::cpu::vector::inner_products;

    struct Widened<'a>([&'a [f32]; 3], [&'a [f32]; 2]);

    impl WithSimd for Widened<'_> {
        type Output = [[f32; 2]; 3];

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> [[f32; 2]; 3] {
            inner_products(simd, self.0, self.1)
        }
    }

    #[test]
    fn products_are_those_of_the_widened_numbers() {
        if !widens() {
            return;
        }
        for inputs in [1, 7, 8, 9, 15, 16, 17, 64, 100, 511] {
            let number = |i: usize| ((i * 7919 % 1013) as f32 / 506.5 - 1.0) * 2_f32.powi((i % 9) as i32 - 4);
            let x: Vec<f32> = (0..3 * inputs).map(number).collect();
            let w: Vec<f16> = (0..2 * inputs).map(|i| f16::from_f32(number(i + 31))).collect();
            let widened: Vec<f32> = w.iter().map(|w| w.to_f32()).collect();
            let x = [0, 1, 2].map(|row| &x[row * inputs..][..inputs]);
            let want = Arch::new().dispatch(Widened(x, [0, 1].map(|row| &widened[row * inputs..][..inputs])));
            let got = products(x, [0, 1].map(|row| &w[row * inputs..][..inputs]));
            assert_eq!(got, want, "{inputs} inputs");
        }
    }
}
