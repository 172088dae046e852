//! Inner products and exponentials in the processor's widest vectors.

use pulp::{Arch, NullaryFnOnce, Simd};

/// Runs plain loops, compiled for the processor's widest vectors. `work` should be `#[inline(always)]`.
///
/// pulp takes closures, too. But a closure that could be called twice is then called through a function of its own, which
/// is compiled for the oldest processors.
#[inline(always)]
pub fn in_widest_vectors<R>(work: impl FnMut() -> R) -> R {
    struct Work<F>(F);
    impl<R, F: FnMut() -> R> NullaryFnOnce for Work<F> {
        type Output = R;

        #[inline(always)]
        fn call(mut self) -> R {
            (self.0)()
        }
    }
    Arch::new().dispatch(Work(work))
}

/// All `ROWS × COLUMNS` inner products of `x` and `w`, slices of equal length. For any size of block, each is summed in
/// the same order: in one vector, then across its lanes.
#[inline(always)]
pub fn inner_products<S: Simd, const ROWS: usize, const COLUMNS: usize>(
    simd: S,
    x: [&[f32]; ROWS],
    w: [&[f32]; COLUMNS],
) -> [[f32; COLUMNS]; ROWS] {
    let (vectors, tail) = S::as_simd_f32s(w[0]);
    let (vectors, tail) = (vectors.len(), tail.len());
    // loops, here and below: compilers keep closures of long arrays out of the function with the vectors
    let mut x_vectors = [&[][..]; ROWS];
    let mut w_vectors = [&[][..]; COLUMNS];
    // equal lengths for the compiler: no bounds checks below
    for row in 0..ROWS {
        x_vectors[row] = &S::as_simd_f32s(x[row]).0[..vectors];
    }
    for column in 0..COLUMNS {
        w_vectors[column] = &S::as_simd_f32s(w[column]).0[..vectors];
    }
    let mut sums = [[simd.splat_f32s(0.0); COLUMNS]; ROWS];
    for i in 0..vectors {
        let mut w = [simd.splat_f32s(0.0); COLUMNS];
        for column in 0..COLUMNS {
            w[column] = w_vectors[column][i];
        }
        for row in 0..ROWS {
            let x = x_vectors[row][i];
            for column in 0..COLUMNS {
                sums[row][column] = simd.mul_add_e_f32s(x, w[column], sums[row][column]);
            }
        }
    }
    if tail > 0 {
        for row in 0..ROWS {
            let x = simd.partial_load_f32s(&x[row][x[row].len() - tail..]);
            for column in 0..COLUMNS {
                let w = simd.partial_load_f32s(&w[column][w[column].len() - tail..]);
                sums[row][column] = simd.mul_add_e_f32s(x, w, sums[row][column]);
            }
        }
    }
    let mut products = [[0.0; COLUMNS]; ROWS];
    for row in 0..ROWS {
        for column in 0..COLUMNS {
            products[row][column] = simd.reduce_sum_f32s(sums[row][column]);
        }
    }
    products
}

/// A vector of inner products of `x` with one w per lane, `[inner, lanes]`.
///
/// Each has the summation order of [`inner_products`]: lane l of the sum there is `sums[l]` here, and the lanes are
/// added in halves, as pulp does on x86-64 and WebAssembly. On these the results are equal to the last bit.
#[inline(always)]
pub fn inner_products_side_by_side<S: Simd>(simd: S, x: &[f32], w: &[f32]) -> S::f32s {
    const MOST_LANES: usize = 16;
    let lanes = S::F32_LANES;
    let w = &S::as_simd_f32s(w).0[..x.len()];
    let mut sums = [simd.splat_f32s(0.0); MOST_LANES];
    let mut blocks = x.chunks_exact(lanes).zip(w.chunks_exact(lanes));
    for (x, w) in &mut blocks {
        for lane in 0..lanes {
            sums[lane] = simd.mul_add_e_f32s(simd.splat_f32s(x[lane]), w[lane], sums[lane]);
        }
    }
    let rest = x.len() / lanes * lanes;
    for (lane, sum) in sums.iter_mut().enumerate().take(lanes) {
        if let Some((&x, &w)) = x.get(rest + lane).zip(w.get(rest + lane)) {
            *sum = simd.mul_add_e_f32s(simd.splat_f32s(x), w, *sum);
        }
    }
    let mut half = lanes;
    while half > 1 {
        half /= 2;
        for lane in 0..half {
            sums[lane] = simd.add_f32s(sums[lane], sums[lane + half]);
        }
    }
    sums[0]
}

/// `y[r] = a[r]·B` with B `[inner, width]`, for rows that share reads of B. For any size of block, each element is
/// summed in ascending order.
#[inline(always)]
pub fn rows_times_matrix<S: Simd, const ROWS: usize>(
    simd: S,
    a: [&[f32]; ROWS],
    b: &[f32],
    y: [&mut [f32]; ROWS],
) {
    let width = y[0].len();
    let inner = b.len().checked_div(width).unwrap_or(0);
    let lanes = S::F32_LANES;
    let a = a.map(|row| &row[..inner]);
    let mut column = 0;
    while column + 2 * lanes <= width {
        let mut sums = [[simd.splat_f32s(0.0); 2]; ROWS];
        for (k, b) in b.chunks_exact(width).enumerate() {
            let (vectors, _) = S::as_simd_f32s(&b[column..column + 2 * lanes]);
            let (low, high) = (vectors[0], vectors[1]);
            for row in 0..ROWS {
                let factor = simd.splat_f32s(a[row][k]);
                sums[row][0] = simd.mul_add_e_f32s(factor, low, sums[row][0]);
                sums[row][1] = simd.mul_add_e_f32s(factor, high, sums[row][1]);
            }
        }
        for row in 0..ROWS {
            let (vectors, _) = S::as_mut_simd_f32s(&mut y[row][column..column + 2 * lanes]);
            vectors.copy_from_slice(&sums[row]);
        }
        column += 2 * lanes;
    }
    while column < width {
        let end = width.min(column + lanes);
        let mut sums = [simd.splat_f32s(0.0); ROWS];
        for (k, b) in b.chunks_exact(width).enumerate() {
            let b = simd.partial_load_f32s(&b[column..end]);
            for row in 0..ROWS {
                sums[row] = simd.mul_add_e_f32s(simd.splat_f32s(a[row][k]), b, sums[row]);
            }
        }
        for row in 0..ROWS {
            simd.partial_store_f32s(&mut y[row][column..end], sums[row]);
        }
        column = end;
    }
}

/// `y += factor * x`, for several x in turn.
#[inline(always)]
pub fn add_scaled<S: Simd, const COUNT: usize>(
    simd: S,
    y: &mut [f32],
    factors: [f32; COUNT],
    x: [&[f32]; COUNT],
) {
    let (y_vectors, y_tail) = S::as_mut_simd_f32s(y);
    let (vectors, tail) = (y_vectors.len(), y_tail.len());
    let parts = x.map(S::as_simd_f32s);
    // equal lengths for the compiler: no bounds checks below
    let x_vectors = parts.map(|(x, _)| &x[..vectors]);
    let x_tails = parts.map(|(_, x)| &x[..tail]);
    let splats = factors.map(|factor| simd.splat_f32s(factor));
    for (i, y) in y_vectors.iter_mut().enumerate() {
        let mut sum = *y; // in a register: for all the compiler knows, y could be one of x
        for j in 0..COUNT {
            sum = simd.mul_add_e_f32s(splats[j], x_vectors[j][i], sum);
        }
        *y = sum;
    }
    if tail > 0 {
        let mut y = simd.partial_load_f32s(y_tail);
        for j in 0..COUNT {
            y = simd.mul_add_e_f32s(splats[j], simd.partial_load_f32s(x_tails[j]), y);
        }
        simd.partial_store_f32s(y_tail, y);
    }
}

/// `eˣ` of every element, in place, for x ≤ 0 or slightly more: within 2 units in the last place, and 0 below -87. x =
/// n·ln 2 + r, with a polynomial for e^r: Cephes' `expf` by S. Moshier, in vectors.
#[inline(always)]
pub fn exp<S: Simd>(simd: S, values: &mut [f32]) {
    let (vectors, tail) = S::as_mut_simd_f32s(values);
    for x in vectors {
        *x = exp_vector(simd, *x);
    }
    if !tail.is_empty() {
        let x = exp_vector(simd, simd.partial_load_f32s(tail));
        simd.partial_store_f32s(tail, x);
    }
}

/// The largest value; minus infinity if there is none. With NaN among the values, the result depends on the processor.
#[inline(always)]
pub fn largest<S: Simd>(simd: S, values: &[f32]) -> f32 {
    let (vectors, tail) = S::as_simd_f32s(values);
    let mut most = simd.splat_f32s(f32::NEG_INFINITY);
    for &x in vectors {
        most = simd.max_f32s(x, most);
    }
    tail.iter().copied().fold(simd.reduce_max_f32s(most), f32::max)
}

/// The sum of the values: in one vector, then across its lanes.
#[inline(always)]
pub fn sum<S: Simd>(simd: S, values: &[f32]) -> f32 {
    let (vectors, tail) = S::as_simd_f32s(values);
    let mut sums = simd.splat_f32s(0.0);
    for &x in vectors {
        sums = simd.add_f32s(sums, x);
    }
    tail.iter().copied().fold(simd.reduce_sum_f32s(sums), |sum, x| sum + x)
}

/// Replaces x by `eˣ⁻ᵐ`, for x ≤ m; returns their sum: vector sums of chunks, added in f64.
#[inline(always)]
pub fn exp_and_sum<S: Simd>(simd: S, values: &mut [f32], m: f32) -> f64 {
    const AT_A_TIME: usize = 64;
    let (vectors, tail) = S::as_mut_simd_f32s(values);
    let shift = simd.splat_f32s(m);
    let mut total = 0.0;
    for vectors in vectors.chunks_mut(AT_A_TIME) {
        let mut sum = simd.splat_f32s(0.0);
        for x in vectors {
            *x = exp_vector(simd, simd.sub_f32s(*x, shift));
            sum = simd.add_f32s(sum, *x);
        }
        total += f64::from(simd.reduce_sum_f32s(sum));
    }
    tail.iter_mut().for_each(|x| *x -= m);
    exp(simd, tail);
    total + tail.iter().copied().map(f64::from).sum::<f64>()
}

/// `Σ eˣ⁻ᵐ` for x ≤ m: vector sums of chunks, added in f64.
#[inline(always)]
pub fn sum_of_exp<S: Simd>(simd: S, values: &[f32], m: f32) -> f64 {
    const AT_A_TIME: usize = 64;
    let (vectors, tail) = S::as_simd_f32s(values);
    let shift = simd.splat_f32s(m);
    let mut total = 0.0;
    for vectors in vectors.chunks(AT_A_TIME) {
        let mut sum = simd.splat_f32s(0.0);
        for &x in vectors {
            sum = simd.add_f32s(sum, exp_vector(simd, simd.sub_f32s(x, shift)));
        }
        total += f64::from(simd.reduce_sum_f32s(sum));
    }
    let mut rest = [0.0; 16];
    let rest = &mut rest[..tail.len()];
    rest.iter_mut().zip(tail).for_each(|(rest, x)| *rest = x - m);
    exp(simd, rest);
    total + rest.iter().copied().map(f64::from).sum::<f64>()
}

/// `σ(x) = 1 / (1 + e⁻ˣ)`; not for NaN.
#[inline(always)]
pub fn sigmoid<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let one = simd.splat_f32s(1.0);
    let quotient = simd.div_f32s(one, simd.add_f32s(one, exp_vector(simd, simd.neg_f32s(x))));
    // the range of the exponential
    let kept = simd.greater_than_or_equal_f32s(x, simd.splat_f32s(-87.0));
    simd.select_f32s(kept, quotient, simd.splat_f32s(0.0))
}

#[inline(always)]
fn exp_vector<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    /// Summand that leaves the nearest whole number in the low bits of a small number.
    const WHOLE: f32 = (3 << 22) as f32;
    let splat = |value: f32| simd.splat_f32s(value);
    let kept = simd.greater_than_or_equal_f32s(x, splat(-87.0));
    // beyond these, the powers of two below would not be normal numbers
    let x = simd.max_f32s(simd.min_f32s(x, splat(88.0)), splat(-87.0));
    let shifted = simd.mul_add_e_f32s(x, splat(std::f32::consts::LOG2_E), splat(WHOLE));
    let n = simd.sub_f32s(shifted, splat(WHOLE));
    // ln 2 in two parts, for an exact difference
    let r = simd.mul_add_e_f32s(n, splat(-0.693_359_4), x);
    let r = simd.mul_add_e_f32s(n, splat(2.121_944_4e-4), r);
    let mut y = splat(1.987_569_1e-4);
    for coefficient in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_6e-1, 0.5] {
        y = simd.mul_add_e_f32s(y, r, splat(coefficient));
    }
    let y = simd.mul_add_e_f32s(simd.mul_f32s(r, r), y, simd.add_f32s(r, splat(1.0)));
    // 2ⁿ by its exponent bits: the low bits of `shifted` are n
    let exponent = simd.wrapping_dyn_shl_u32s(simd.transmute_u32s_f32s(shifted), simd.splat_u32s(23));
    let bits = simd.add_u32s(simd.transmute_u32s_f32s(y), exponent);
    simd.select_f32s(kept, simd.transmute_f32s_u32s(bits), splat(0.0))
}

#[cfg(test)]
mod tests {
    use pulp::{Arch, WithSimd};

    use super::*;

    struct Exp<'a>(&'a mut [f32]);

    impl WithSimd for Exp<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            exp(simd, self.0);
        }
    }

    #[test]
    fn powers_of_e_are_right_to_the_last_places() {
        let mut values: Vec<f32> = (0..100_003).map(|i| -100.0 + i as f32 * 1e-3).collect();
        let want: Vec<f32> = values.iter().map(|value| f64::from(*value).exp() as f32).collect();
        let x = values.clone();
        Arch::new().dispatch(Exp(&mut values));
        for ((x, got), want) in x.iter().zip(&values).zip(want) {
            let want = if *x < -87.0 { 0.0 } else { want };
            assert!((got - want).abs() <= 2.0 * f32::EPSILON * want, "e^{x}: {got}, not {want}");
        }
        let mut odd = [0.0, -0.0, f32::NEG_INFINITY, -1e38, 1.0];
        Arch::new().dispatch(Exp(&mut odd));
        assert_eq!(odd[..4], [1.0, 1.0, 0.0, 0.0]);
    }
}
