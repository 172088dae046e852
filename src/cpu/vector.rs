//! Inner products in the widest vectors that the processor has.

use pulp::Simd;

/// All `ROWS × COLUMNS` inner products of `x` and `w`, slices of equal length.
///
/// Each of them is summed up alike, whatever the block's size: in one vector, then across its lanes, then the tail.
#[inline(always)]
pub fn inner_products<S: Simd, const ROWS: usize, const COLUMNS: usize>(
    simd: S,
    x: [&[f32]; ROWS],
    w: [&[f32]; COLUMNS],
) -> [[f32; COLUMNS]; ROWS] {
    let (vectors, _) = S::as_simd_f32s(w[0]);
    let (vectors, tail_start) = (vectors.len(), w[0].len() / S::F32_LANES * S::F32_LANES);
    // equal lengths, visibly: no bounds checks below
    let x_vectors = x.map(|x| &S::as_simd_f32s(x).0[..vectors]);
    let w_vectors = w.map(|w| &S::as_simd_f32s(w).0[..vectors]);
    let mut sums = [[simd.splat_f32s(0.0); COLUMNS]; ROWS];
    for i in 0..vectors {
        let w = w_vectors.map(|w| w[i]);
        for row in 0..ROWS {
            let x = x_vectors[row][i];
            for column in 0..COLUMNS {
                sums[row][column] = simd.mul_add_e_f32s(x, w[column], sums[row][column]);
            }
        }
    }
    let mut result = [[0.0; COLUMNS]; ROWS];
    for row in 0..ROWS {
        for column in 0..COLUMNS {
            let tails = x[row][tail_start..].iter().zip(&w[column][tail_start..]);
            result[row][column] =
                tails.fold(simd.reduce_sum_f32s(sums[row][column]), |sum, (x, w)| sum + x * w);
        }
    }
    result
}

/// `y += factor * x`
#[inline(always)]
pub fn add_scaled<S: Simd>(simd: S, y: &mut [f32], factor: f32, x: &[f32]) {
    let (y_vectors, y_tail) = S::as_mut_simd_f32s(y);
    let (x_vectors, x_tail) = S::as_simd_f32s(x);
    let factors = simd.splat_f32s(factor);
    for (y, &x) in y_vectors.iter_mut().zip(x_vectors) {
        *y = simd.mul_add_e_f32s(factors, x, *y);
    }
    for (y, x) in y_tail.iter_mut().zip(x_tail) {
        *y += factor * x;
    }
}
