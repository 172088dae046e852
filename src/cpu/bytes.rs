//! Inner products of 8-bit with 8-bit whole numbers, by the instruction that x86-64 processors with AVX-512 VNNI have. It
//! multiplies unsigned by signed bytes, so inputs are shifted up by 127, and 127 times the sum of the weights is taken
//! away again. Sums are exact in 32 bits for up to 66,000 inputs; the results are those of [`integers`](super::integers).

/// Summand that makes a whole number from -127 to 127 an unsigned byte.
pub const SHIFT: u8 = 127;

/// Largest number of inputs whose sums fit 32 bits.
const MOST_INPUTS: usize = i32::MAX as usize / (254 * 127);

/// Whether the processor has the instruction, and sums of `inputs` products fit.
pub fn multiplies(inputs: usize) -> bool {
    #[cfg(target_arch = "x86_64")]
    let has =
        std::arch::is_x86_feature_detected!("avx512bw") && std::arch::is_x86_feature_detected!("avx512vnni");
    #[cfg(not(target_arch = "x86_64"))]
    let has = false;
    has && inputs <= MOST_INPUTS
}

/// All `ROWS × OUTPUTS` inner products of `x`, shifted up by [`SHIFT`], and `w` (-127 … 127), slices of equal length. Only
/// where the processor [multiplies] such bytes.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "the processor was asked for the instruction")]
pub fn products<const ROWS: usize, const OUTPUTS: usize>(
    x: [&[u8]; ROWS],
    w: [&[i8]; OUTPUTS],
) -> [[f32; OUTPUTS]; ROWS] {
    debug_assert!(multiplies(w[0].len()), "the caller asks first");
    // SAFETY: callers come here only where `multiplies` has found the features.
    unsafe { x86::products(x, w) }
}

/// For other processors, which never multiply bytes.
#[cfg(not(target_arch = "x86_64"))]
pub fn products<const ROWS: usize, const OUTPUTS: usize>(
    _: [&[u8]; ROWS],
    _: [&[i8]; OUTPUTS],
) -> [[f32; OUTPUTS]; ROWS] {
    unreachable!("the caller asks `multiplies` first")
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m512i, _mm512_dpbusd_epi32, _mm512_maskz_loadu_epi8, _mm512_reduce_add_epi32, _mm512_set1_epi8,
        _mm512_setzero_si512,
    };

    use super::SHIFT;

    /// Numbers of a vector.
    const LANES: usize = 64;

    /// Up to [`LANES`] numbers, then zeros.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    #[expect(unsafe_code, reason = "the instruction takes a pointer")]
    fn load<T>(numbers: &[T]) -> __m512i {
        const { assert!(size_of::<T>() == 1, "bytes") };
        let mask = u64::MAX.checked_shr((LANES - numbers.len().min(LANES)) as u32).unwrap_or(0);
        // SAFETY: the mask selects at most as many bytes as there are; others are not read.
        unsafe { _mm512_maskz_loadu_epi8(mask, numbers.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub fn products<const ROWS: usize, const OUTPUTS: usize>(
        x: [&[u8]; ROWS],
        w: [&[i8]; OUTPUTS],
    ) -> [[f32; OUTPUTS]; ROWS] {
        let inputs = w[0].len();
        // equal lengths for the compiler: no bounds checks below
        let (x, w) = (x.map(|x| &x[..inputs]), w.map(|w| &w[..inputs]));
        let shift = _mm512_set1_epi8(SHIFT as i8);
        let mut shifts = [_mm512_setzero_si512(); OUTPUTS];
        let mut sums = [[_mm512_setzero_si512(); OUTPUTS]; ROWS];
        for first in (0..inputs).step_by(LANES) {
            let end = inputs.min(first + LANES);
            for output in 0..OUTPUTS {
                let w = load(&w[output][first..end]);
                shifts[output] = _mm512_dpbusd_epi32(shifts[output], shift, w);
                for row in 0..ROWS {
                    sums[row][output] = _mm512_dpbusd_epi32(sums[row][output], load(&x[row][first..end]), w);
                }
            }
        }
        let mut products = [[0.0; OUTPUTS]; ROWS];
        for output in 0..OUTPUTS {
            let shift = _mm512_reduce_add_epi32(shifts[output]);
            for row in 0..ROWS {
                products[row][output] = (_mm512_reduce_add_epi32(sums[row][output]) - shift) as f32;
            }
        }
        products
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact() {
        if !multiplies(1) {
            return;
        }
        for inputs in [1, 3, 63, 64, 65, 256, 1536, 2000] {
            let x: Vec<i32> = (0..inputs).map(|i| (i * 7919 % 255) as i32 - 127).collect();
            let bytes: Vec<u8> = x.iter().map(|x| (x + 127) as u8).collect();
            let w: Vec<i8> = (0..inputs).map(|i| (i * 31 % 255) as u8 as i8).map(|w| w.max(-127)).collect();
            let (most, least) = (vec![254; inputs], vec![0; inputs]);
            let (ups, downs) = (vec![127; inputs], vec![-127; inputs]);
            let got = products([&bytes[..], &most, &least], [&w[..], &ups, &downs]);
            let sum = |x: &dyn Fn(usize) -> i32, w: &[i8]| -> f32 {
                (0..inputs).map(|i| i64::from(x(i)) * i64::from(w[i])).sum::<i64>() as f32
            };
            for (got, x) in got.iter().zip([&(|i: usize| x[i]) as &dyn Fn(usize) -> i32, &|_| 127, &|_| -127])
            {
                assert_eq!(*got, [sum(x, &w), sum(x, &ups), sum(x, &downs)], "{inputs} inputs");
            }
        }
    }
}
