//! Sums of the products of bytes in [`quads`](super::quads), by the instruction of x86-64 processors with AVX-512 VNNI: it multiplies 64
//! unsigned by signed bytes, and adds four neighbours each.

use super::rounded_bytes::RoundedBytes;

/// Maximum rows side by side: two vectors of sums of the high and of the low bytes for each.
pub const MOST_ROWS: usize = 6;

/// Outputs of a line: a word of each is a vector.
pub const LINE: usize = 16;

/// Lines of weights, from the first output of y on.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "other processors store no quads"))]
pub struct Lines<'a> {
    /// `[lines, line]`, and more
    pub words: &'a [u32],
    /// `[lines, 16]`, and more: subtracted from the sums
    pub shifts: &'a [f64],
    /// Words of a line.
    pub line: usize,
}

/// Whether the processor has the instruction.
pub fn are_there() -> bool {
    #[cfg(target_arch = "x86_64")]
    let are_there = std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512bw")
        && std::arch::is_x86_feature_detected!("avx512vnni");
    #[cfg(not(target_arch = "x86_64"))]
    let are_there = false;
    are_there
}

/// Sets `y` to the products of `x`'s rows from `first` on, without their scales. Only where [`are_there`].
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "the processor was asked for the instruction")]
pub fn multiply(x: &RoundedBytes, first: usize, weight: Lines, y: &mut [&mut [f32]]) {
    assert!(are_there(), "the caller asks first");
    // SAFETY: the processor has the features.
    unsafe { x86::multiply(x, first, weight, y) }
}

/// For other processors, which store no quads.
#[cfg(not(target_arch = "x86_64"))]
pub fn multiply(_: &RoundedBytes, _: usize, _: Lines, _: &mut [&mut [f32]]) {
    unreachable!("the caller asks `are_there` first")
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m512d, __m512i, _mm256_castps_pd, _mm512_castpd_ps, _mm512_castpd256_pd512, _mm512_castsi512_si256,
        _mm512_cvtepi32_pd, _mm512_cvtpd_ps, _mm512_dpbusd_epi32, _mm512_extracti64x4_epi64, _mm512_fmadd_pd,
        _mm512_insertf64x4, _mm512_mask_storeu_ps, _mm512_set1_epi32, _mm512_set1_pd, _mm512_setzero_si512,
        _mm512_sub_pd,
    };

    use super::{LINE, Lines, MOST_ROWS, RoundedBytes};

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub fn multiply(x: &RoundedBytes, first: usize, weight: Lines, y: &mut [&mut [f32]]) {
        let (rows, width) = (y.len(), y.first().map_or(0, |y| y.len()));
        // as many sums as registers
        let side_by_side = if rows <= 2 { 4 } else { 2 };
        let mut column = 0;
        while column < width {
            let lines = if width - column > 2 * LINE { side_by_side } else { 2 };
            let weight = Lines {
                words: &weight.words[column / LINE * weight.line..],
                shifts: &weight.shifts[column..],
                line: weight.line,
            };
            let columns = [column, width.min(column + lines * LINE)];
            let groups = rows.div_ceil(MOST_ROWS);
            // groups of equal size, as nearly as there are
            for group in 0..groups {
                let [start, end] = [group, group + 1].map(|group| group * rows / groups);
                let (count, y, start) = (end - start, &mut y[start..end], first + start);
                match (count, lines) {
                    (1, 4) => block::<1, 4>(x, start, weight, columns, y),
                    (1, _) => block::<1, 2>(x, start, weight, columns, y),
                    (2, 4) => block::<2, 4>(x, start, weight, columns, y),
                    (2, _) => block::<2, 2>(x, start, weight, columns, y),
                    (3, _) => block::<3, 2>(x, start, weight, columns, y),
                    (4, _) => block::<4, 2>(x, start, weight, columns, y),
                    (5, _) => block::<5, 2>(x, start, weight, columns, y),
                    _ => block::<6, 2>(x, start, weight, columns, y),
                }
            }
            column += lines * LINE;
        }
    }

    /// Sums of the high and of the low bytes.
    type Sums<const ROWS: usize, const LINES: usize> = [[[__m512i; 2]; LINES]; ROWS];

    /// Computes and writes `ROWS × LINES` vectors of sums.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn block<const ROWS: usize, const LINES: usize>(
        x: &RoundedBytes,
        first: usize,
        weight: Lines,
        [start, end]: [usize; 2],
        y: &mut [&mut [f32]],
    ) {
        let mut sums = [[[_mm512_setzero_si512(); 2]; LINES]; ROWS];
        add_products(x, first, weight, &mut sums);
        let (shifts, _) = weight.shifts.as_chunks::<LINE>();
        for (y, sums) in y.iter_mut().zip(&sums) {
            let parts = y[start..end].chunks_mut(LINE);
            for ((y, &[high, low]), shifts) in parts.zip(sums).zip(shifts) {
                store(high, low, shifts, y);
            }
        }
    }

    /// A function of its own, so that compilers keep all sums in registers.
    #[inline(never)]
    #[expect(
        clippy::needless_range_loop,
        reason = "compilers keep iterators out of the function with the vectors"
    )]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn add_products<const ROWS: usize, const LINES: usize>(
        x: &RoundedBytes,
        first: usize,
        weight: Lines,
        sums: &mut Sums<ROWS, LINES>,
    ) {
        let quads = x.planes(first)[0].len();
        // equal lengths for the compiler: no bounds checks below
        let mut planes = [[&[][..]; 2]; ROWS];
        for row in 0..ROWS {
            let [high, low] = x.planes(first + row);
            planes[row] = [&high[..quads], &low[..quads]];
        }
        let mut lines = [&[][..]; LINES];
        for line in 0..LINES {
            lines[line] = &weight.words[line * weight.line..].as_chunks::<LINE>().0[..quads];
        }
        let mut totals = [[[_mm512_setzero_si512(); 2]; LINES]; ROWS];
        for quad in 0..quads {
            let mut weights = [_mm512_setzero_si512(); LINES];
            for line in 0..LINES {
                weights[line] = pulp::cast(lines[line][quad]);
            }
            for row in 0..ROWS {
                for byte in 0..2 {
                    let x = _mm512_set1_epi32(planes[row][byte][quad] as i32);
                    for line in 0..LINES {
                        totals[row][line][byte] =
                            _mm512_dpbusd_epi32(totals[row][line][byte], x, weights[line]);
                    }
                }
            }
        }
        *sums = totals;
    }

    /// Writes the totals of the high and the low bytes, rounded once.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    #[expect(unsafe_code, reason = "the instruction takes a pointer")]
    fn store(high: __m512i, low: __m512i, shifts: &[f64; LINE], y: &mut [f32]) {
        let halves = |sums| {
            let halves = [_mm512_castsi512_si256(sums), _mm512_extracti64x4_epi64::<1>(sums)];
            [_mm512_cvtepi32_pd(halves[0]), _mm512_cvtepi32_pd(halves[1])]
        };
        let (high, low): ([__m512d; 2], [__m512d; 2]) = (halves(high), halves(low));
        let shifts: [__m512d; 2] = pulp::cast(*shifts);
        // whole numbers below 2⁵³
        let total = |half: usize| {
            let low = _mm512_sub_pd(low[half], shifts[half]);
            _mm512_cvtpd_ps(_mm512_fmadd_pd(high[half], _mm512_set1_pd(256.0), low))
        };
        let [low, high] = [total(0), total(1)].map(|half| _mm256_castps_pd(half));
        let totals = _mm512_castpd_ps(_mm512_insertf64x4::<1>(_mm512_castpd256_pd512(low), high));
        let mask = u16::MAX.checked_shr((LINE - y.len().min(LINE)) as u32).unwrap_or(0);
        // SAFETY: the mask selects as many numbers as y has; others are not written.
        unsafe { _mm512_mask_storeu_ps(y.as_mut_ptr(), mask, totals) };
    }
}
