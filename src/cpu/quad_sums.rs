//! Sums of the products of bytes in [`quads`](super::quads), by the instruction of x86-64 processors with AVX-512 VNNI: it multiplies 64
//! unsigned by signed bytes, and adds four neighbours each.

use super::rounded_bytes::RoundedBytes;

/// Maximum rows side by side: two vectors of sums for each, of bytes.
pub const MOST_ROWS: usize = 12;

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
        _mm512_fnmadd_pd, _mm512_insertf64x4, _mm512_mask_storeu_ps, _mm512_set1_epi32, _mm512_set1_pd,
        _mm512_setzero_si512, _mm512_sub_pd,
    };

    use super::{LINE, Lines, MOST_ROWS, RoundedBytes};
    use crate::cpu::rounded_bytes::{BYTE_SHIFT, SHIFT};

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub fn multiply(x: &RoundedBytes, first: usize, weight: Lines, y: &mut [&mut [f32]]) {
        let (rows, width) = (y.len(), y.first().map_or(0, |y| y.len()));
        // as many sums as registers
        let (most_rows, rows_of_many_lines) =
            if x.planes() == 2 { (MOST_ROWS / 2, 2) } else { (MOST_ROWS, 6) };
        let side_by_side = if rows <= rows_of_many_lines { 4 } else { 2 };
        let mut column = 0;
        while column < width {
            let lines = if width - column > 2 * LINE { side_by_side } else { 2 };
            let weight = Lines {
                words: &weight.words[column / LINE * weight.line..],
                shifts: &weight.shifts[column..],
                line: weight.line,
            };
            let columns = [column, width.min(column + lines * LINE)];
            let groups = rows.div_ceil(most_rows);
            // groups of equal size, as nearly as there are
            for group in 0..groups {
                let [start, end] = [group, group + 1].map(|group| group * rows / groups);
                let (y, start) = (&mut y[start..end], first + start);
                match x.planes() {
                    2 => words_block(x, start, weight, (columns, lines), y),
                    _ => bytes_block(x, start, weight, (columns, lines), y),
                }
            }
            column += lines * LINE;
        }
    }

    /// Blocks of as many rows as `y` has, and of some lines: a function for each.
    macro_rules! blocks {
        ($name:ident, $planes:literal, $([$rows:literal, $lines:literal])*) => {
            #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
            fn $name(
                x: &RoundedBytes,
                first: usize,
                weight: Lines,
                (columns, lines): ([usize; 2], usize),
                y: &mut [&mut [f32]],
            ) {
                match (y.len(), lines) {
                    $(($rows, $lines) => block::<$rows, $lines, $planes>(x, first, weight, columns, y),)*
                    (rows, lines) => unreachable!("{rows} rows, {lines} lines"),
                }
            }
        };
    }

    blocks! { words_block, 2, [1, 4] [2, 4] [1, 2] [2, 2] [3, 2] [4, 2] [5, 2] [6, 2] }
    blocks! {
        bytes_block, 1,
        [1, 4] [2, 4] [3, 4] [4, 4] [5, 4] [6, 4]
        [1, 2] [2, 2] [3, 2] [4, 2] [5, 2] [6, 2] [7, 2] [8, 2] [9, 2] [10, 2] [11, 2] [12, 2]
    }

    /// Sums of each byte of the numbers.
    type Sums<const ROWS: usize, const LINES: usize, const PLANES: usize> =
        [[[__m512i; PLANES]; LINES]; ROWS];

    /// Computes and writes `ROWS × LINES` vectors of sums.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn block<const ROWS: usize, const LINES: usize, const PLANES: usize>(
        x: &RoundedBytes,
        first: usize,
        weight: Lines,
        [start, end]: [usize; 2],
        y: &mut [&mut [f32]],
    ) {
        let mut sums = [[[_mm512_setzero_si512(); PLANES]; LINES]; ROWS];
        add_products(x, first, weight, &mut sums);
        let (shifts, _) = weight.shifts.as_chunks::<LINE>();
        for (y, sums) in y.iter_mut().zip(&sums) {
            let parts = y[start..end].chunks_mut(LINE);
            for ((y, sums), shifts) in parts.zip(sums).zip(shifts) {
                store(*sums, shifts, y);
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
    fn add_products<const ROWS: usize, const LINES: usize, const PLANES: usize>(
        x: &RoundedBytes,
        first: usize,
        weight: Lines,
        sums: &mut Sums<ROWS, LINES, PLANES>,
    ) {
        let quads = x.plane(first, 0).len();
        // equal lengths for the compiler: no bounds checks below
        let mut planes = [[&[][..]; PLANES]; ROWS];
        for row in 0..ROWS {
            for plane in 0..PLANES {
                planes[row][plane] = &x.plane(first + row, plane)[..quads];
            }
        }
        let mut lines = [&[][..]; LINES];
        for line in 0..LINES {
            lines[line] = &weight.words[line * weight.line..].as_chunks::<LINE>().0[..quads];
        }
        let mut totals = [[[_mm512_setzero_si512(); PLANES]; LINES]; ROWS];
        for quad in 0..quads {
            let mut weights = [_mm512_setzero_si512(); LINES];
            for line in 0..LINES {
                weights[line] = pulp::cast(lines[line][quad]);
            }
            for row in 0..ROWS {
                for plane in 0..PLANES {
                    let x = _mm512_set1_epi32(planes[row][plane][quad] as i32);
                    for line in 0..LINES {
                        totals[row][line][plane] =
                            _mm512_dpbusd_epi32(totals[row][line][plane], x, weights[line]);
                    }
                }
            }
        }
        *sums = totals;
    }

    /// Writes the totals of all bytes, rounded once.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    #[expect(unsafe_code, reason = "the instruction takes a pointer")]
    fn store<const PLANES: usize>(sums: [__m512i; PLANES], shifts: &[f64; LINE], y: &mut [f32]) {
        const BYTE_SHARE: f64 = BYTE_SHIFT as f64 / SHIFT as f64;
        let halves = |sums| {
            let halves = [_mm512_castsi512_si256(sums), _mm512_extracti64x4_epi64::<1>(sums)];
            [_mm512_cvtepi32_pd(halves[0]), _mm512_cvtepi32_pd(halves[1])]
        };
        let shifts: [__m512d; 2] = pulp::cast(*shifts);
        let (first, last): ([__m512d; 2], [__m512d; 2]) = (halves(sums[0]), halves(sums[PLANES - 1]));
        // whole numbers below 2⁵³
        let total = |half: usize| {
            _mm512_cvtpd_ps(match PLANES {
                1 => _mm512_fnmadd_pd(shifts[half], _mm512_set1_pd(BYTE_SHARE), first[half]),
                _ => {
                    let low = _mm512_sub_pd(last[half], shifts[half]);
                    _mm512_fmadd_pd(first[half], _mm512_set1_pd(256.0), low)
                }
            })
        };
        let [low, high] = [total(0), total(1)].map(|half| _mm256_castps_pd(half));
        let totals = _mm512_castpd_ps(_mm512_insertf64x4::<1>(_mm512_castpd256_pd512(low), high));
        let mask = u16::MAX.checked_shr((LINE - y.len().min(LINE)) as u32).unwrap_or(0);
        // SAFETY: the mask selects as many numbers as y has; others are not written.
        unsafe { _mm512_mask_storeu_ps(y.as_mut_ptr(), mask, totals) };
    }
}
