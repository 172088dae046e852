//! Inner products of 16-bit with 8-bit whole numbers, in the processor's widest vectors.
//!
//! One instruction multiplies such numbers and sums neighbouring products, for twice as many numbers as f32 values.
//! pulp's generic vectors lack it, so each kind of processor has its own code here.

use pulp::Arch;

/// The integer vectors of a kind of processor.
pub trait IntegerVectors: Copy {
    /// Vector of 16-bit numbers.
    type X: Copy;
    /// Vector of as many 8-bit numbers.
    type W: Copy;
    /// The 8-bit numbers widened to 16 bits.
    type Widened: Copy;
    /// Vector of 32-bit sums.
    type Sums: Copy;

    /// Whole vectors of `x`, without its tail.
    fn x_vectors(x: &[i16]) -> &[Self::X];
    /// Whole vectors of `w`, and its tail.
    fn w_vectors(w: &[i8]) -> (&[Self::W], &[i8]);
    fn zeros(self) -> Self::Sums;
    fn widen(self, w: Self::W) -> Self::Widened;
    fn add_products(self, x: Self::X, w: Self::Widened, sums: Self::Sums) -> Self::Sums;
    /// The total in 64 bits, from four 32-bit sums with a fourth of the products each.
    fn total(self, sums: Self::Sums) -> i64;
}

/// The largest 16-bit magnitude for rows of `inputs` numbers, so that [`inner_products`]' 32-bit sums do not overflow:
/// 15 bits up to 2,064 inputs, one less for each doubling.
pub const fn largest(inputs: usize) -> i16 {
    const LARGEST_WEIGHT: usize = 127;
    let in_a_sum = if inputs < 4 { 1 } else { inputs / 4 };
    let largest = i32::MAX as usize / (LARGEST_WEIGHT * in_a_sum);
    if largest < i16::MAX as usize { largest as i16 } else { i16::MAX }
}

/// All `ROWS × COLUMNS` inner products of `x` (magnitudes up to [`largest`]) and `w` (-127 … 127), slices of equal
/// length. The sums are exact on every processor, and rounded at the end.
#[inline(always)]
pub fn inner_products<S: IntegerVectors, const ROWS: usize, const COLUMNS: usize>(
    simd: S,
    x: [&[i16]; ROWS],
    w: [&[i8]; COLUMNS],
) -> [[f32; COLUMNS]; ROWS] {
    let (vectors, tail) = S::w_vectors(w[0]);
    let (vectors, tail) = (vectors.len(), tail.len());
    // loops: compilers keep closures of long arrays out of the function with the vectors
    let mut x_vectors = [&[][..]; ROWS];
    let mut w_vectors = [&[][..]; COLUMNS];
    // equal lengths for the compiler: no bounds checks below
    for row in 0..ROWS {
        x_vectors[row] = &S::x_vectors(x[row])[..vectors];
    }
    for column in 0..COLUMNS {
        w_vectors[column] = &S::w_vectors(w[column]).0[..vectors];
    }
    let mut sums = [[simd.zeros(); COLUMNS]; ROWS];
    for i in 0..vectors {
        for column in 0..COLUMNS {
            let w = simd.widen(w_vectors[column][i]);
            for row in 0..ROWS {
                sums[row][column] = simd.add_products(x_vectors[row][i], w, sums[row][column]);
            }
        }
    }
    // small loops, which compilers unroll, so that sums stay in registers
    let mut totals = [[0; COLUMNS]; ROWS];
    for row in 0..ROWS {
        for column in 0..COLUMNS {
            totals[row][column] = simd.total(sums[row][column]);
        }
    }
    if tail > 0 {
        for row in 0..ROWS {
            for column in 0..COLUMNS {
                let (x, w) = (x[row], w[column]);
                for (&x, &w) in x[x.len() - tail..].iter().zip(&w[w.len() - tail..]) {
                    totals[row][column] += i64::from(x) * i64::from(w);
                }
            }
        }
    }
    let mut products = [[0.0; COLUMNS]; ROWS];
    for row in 0..ROWS {
        for column in 0..COLUMNS {
            products[row][column] = totals[row][column] as f32;
        }
    }
    products
}

pub trait WithIntegers {
    fn with_integers<S: IntegerVectors>(self, simd: S);
}

#[inline(always)]
pub fn dispatch(arch: Arch, work: impl WithIntegers) {
    struct Call<S, W>(S, W);
    impl<S: IntegerVectors, W: WithIntegers> pulp::NullaryFnOnce for Call<S, W> {
        type Output = ();

        #[inline(always)]
        fn call(self) {
            self.1.with_integers(self.0);
        }
    }
    match arch {
        #[cfg(target_arch = "x86_64")]
        Arch::V4(simd) => simd.vectorize(Call(simd, work)),
        #[cfg(target_arch = "x86_64")]
        Arch::V3(simd) => simd.vectorize(Call(simd, work)),
        #[cfg(target_arch = "aarch64")]
        Arch::Neon(simd) => simd.vectorize(Call(simd, work)),
        #[cfg(target_arch = "wasm32")]
        Arch::Simd128(simd) => simd.vectorize(Call(simd, work)),
        _ => work.with_integers(pulp::Scalar),
    }
}

/// Vectors as arrays.
macro_rules! arrays_of {
    ($numbers:literal) => {
        type X = [i16; $numbers];
        type W = [i8; $numbers];

        #[inline(always)]
        fn x_vectors(x: &[i16]) -> &[Self::X] {
            x.as_chunks().0
        }

        #[inline(always)]
        fn w_vectors(w: &[i8]) -> (&[Self::W], &[i8]) {
            w.as_chunks()
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m128i, __m256i, __m512i};

    use pulp::cast;
    use pulp::x86::{V3, V4};

    use super::IntegerVectors;

    impl IntegerVectors for V4 {
        type Widened = __m512i;
        type Sums = __m512i;

        arrays_of!(32);

        #[inline(always)]
        fn zeros(self) -> __m512i {
            cast([0; 16])
        }

        #[inline(always)]
        fn widen(self, w: [i8; 32]) -> __m512i {
            self.avx512bw._mm512_cvtepi8_epi16(cast(w))
        }

        #[inline(always)]
        fn add_products(self, x: [i16; 32], w: __m512i, sums: __m512i) -> __m512i {
            self.avx512f._mm512_add_epi32(sums, self.avx512bw._mm512_madd_epi16(cast(x), w))
        }

        #[inline(always)]
        fn total(self, sums: __m512i) -> i64 {
            let [low, high]: [__m256i; 2] = cast(sums);
            (*self).total(self.avx2._mm256_add_epi32(low, high))
        }
    }

    impl IntegerVectors for V3 {
        type Widened = __m256i;
        type Sums = __m256i;

        arrays_of!(16);

        #[inline(always)]
        fn zeros(self) -> __m256i {
            cast([0; 8])
        }

        #[inline(always)]
        fn widen(self, w: [i8; 16]) -> __m256i {
            self.avx2._mm256_cvtepi8_epi16(cast(w))
        }

        #[inline(always)]
        fn add_products(self, x: [i16; 16], w: __m256i, sums: __m256i) -> __m256i {
            self.avx2._mm256_add_epi32(sums, self.avx2._mm256_madd_epi16(cast(x), w))
        }

        #[inline(always)]
        fn total(self, sums: __m256i) -> i64 {
            let [low, high]: [__m128i; 2] = cast(sums);
            let four = self.avx2._mm256_cvtepi32_epi64(self.sse2._mm_add_epi32(low, high));
            let [low, high]: [__m128i; 2] = cast(four);
            let [low, high]: [i64; 2] = cast(self.sse2._mm_add_epi64(low, high));
            low + high
        }
    }
}

#[cfg(target_arch = "aarch64")]
impl IntegerVectors for pulp::aarch64::Neon {
    type Widened = std::arch::aarch64::int16x8_t;
    type Sums = std::arch::aarch64::int32x4_t;

    arrays_of!(8);

    #[inline(always)]
    fn zeros(self) -> Self::Sums {
        pulp::cast([0; 4])
    }

    #[inline(always)]
    fn widen(self, w: [i8; 8]) -> Self::Widened {
        self.neon.vmovl_s8(pulp::cast(w))
    }

    #[inline(always)]
    fn add_products(self, x: [i16; 8], w: Self::Widened, sums: Self::Sums) -> Self::Sums {
        let (neon, x) = (self.neon, pulp::cast(x));
        let sums = neon.vmlal_s16(sums, neon.vget_low_s16(x), neon.vget_low_s16(w));
        neon.vmlal_high_s16(sums, x, w)
    }

    #[inline(always)]
    fn total(self, sums: Self::Sums) -> i64 {
        let [a, b, c, d]: [i32; 4] = pulp::cast(sums);
        (i64::from(a) + i64::from(b)) + (i64::from(c) + i64::from(d))
    }
}

#[cfg(target_arch = "wasm32")]
impl IntegerVectors for pulp::wasm::Simd128 {
    type Widened = [std::arch::wasm32::v128; 2];
    type Sums = std::arch::wasm32::v128;

    arrays_of!(16);

    #[inline(always)]
    fn zeros(self) -> Self::Sums {
        pulp::cast([0; 4])
    }

    #[inline(always)]
    fn widen(self, w: [i8; 16]) -> Self::Widened {
        let w = pulp::cast(w);
        [self.simd128.i16x8_extend_low_i8x16(w), self.simd128.i16x8_extend_high_i8x16(w)]
    }

    #[inline(always)]
    fn add_products(self, x: [i16; 16], w: Self::Widened, sums: Self::Sums) -> Self::Sums {
        let simd = self.simd128;
        let x: [std::arch::wasm32::v128; 2] = pulp::cast(x);
        let low = simd.i32x4_add(sums, simd.i32x4_dot_i16x8(x[0], w[0]));
        simd.i32x4_add(low, simd.i32x4_dot_i16x8(x[1], w[1]))
    }

    #[inline(always)]
    fn total(self, sums: Self::Sums) -> i64 {
        let [a, b, c, d]: [i32; 4] = pulp::cast(sums);
        (i64::from(a) + i64::from(b)) + (i64::from(c) + i64::from(d))
    }
}

/// For processors without such vectors.
impl IntegerVectors for pulp::Scalar {
    type Widened = [i16; 4];
    type Sums = [i32; 4];

    arrays_of!(4);

    #[inline(always)]
    fn zeros(self) -> [i32; 4] {
        [0; 4]
    }

    #[inline(always)]
    fn widen(self, w: [i8; 4]) -> [i16; 4] {
        w.map(i16::from)
    }

    #[inline(always)]
    fn add_products(self, x: [i16; 4], w: [i16; 4], sums: [i32; 4]) -> [i32; 4] {
        std::array::from_fn(|i| sums[i] + i32::from(x[i]) * i32::from(w[i]))
    }

    #[inline(always)]
    fn total(self, sums: [i32; 4]) -> i64 {
        sums.into_iter().map(i64::from).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Products<'a> {
        x: [&'a [i16]; 2],
        w: [&'a [i8]; 3],
        out: &'a mut [[f32; 3]; 2],
    }

    impl WithIntegers for Products<'_> {
        fn with_integers<S: IntegerVectors>(self, simd: S) {
            *self.out = inner_products(simd, self.x, self.w);
        }
    }

    #[test]
    fn sums_are_exact_up_to_the_largest_numbers() {
        for inputs in [0, 1, 3, 16, 37, 511, 512, 2048, 2100, 4096, 16_384 + 5] {
            let most = largest(inputs);
            let x: Vec<i16> = (0..inputs).map(|i| (i * 7919 % 65_535) as i16 / (i16::MAX / most)).collect();
            let w: Vec<i8> = (0..inputs).map(|i| (i * 31 % 255) as u8 as i8).map(|w| w.max(-127)).collect();
            let (x_most, w_least) = (vec![most; inputs], vec![-127; inputs]);
            let w_mixed: Vec<i8> = (0..inputs).map(|i| if i % 2 == 0 { 127 } else { -126 }).collect();
            let (x, w) = ([&x[..], &x_most], [&w[..], &w_least, &w_mixed]);
            for arch in [Arch::new(), Arch::Scalar] {
                let mut out = [[0.0; 3]; 2];
                dispatch(arch, Products { x, w, out: &mut out });
                let product = |x: &[i16], w: &[i8]| -> f32 {
                    x.iter().zip(w).map(|(x, w)| i64::from(*x) * i64::from(*w)).sum::<i64>() as f32
                };
                assert_eq!(out, x.map(|x| w.map(|w| product(x, w))), "{inputs} inputs, {arch:?}");
            }
        }
    }

    #[test]
    fn long_rows_keep_fewer_bits() {
        assert_eq!([1, 512, 2048, 2064].map(largest), [i16::MAX; 4]);
        assert!(largest(4096) >= 1 << 14 && largest(8192) >= 1 << 13, "{} {}", largest(4096), largest(8192));
    }
}
