//! Sums of neighbouring rows.

use super::parallel::for_each_row;

/// `out[r]` = Σ of the rows `ranges[2r]` to `ranges[2r + 1]`, the end, of `x`; zeros for an empty range. Rows have
/// `width` columns. Panics if a range is beyond x.
pub fn sum_rows(x: &[f32], ranges: &[u32], width: usize, out: &mut [f32]) {
    for_each_row(out, width, width, |row, out| {
        out.fill(0.0);
        for row in ranges[2 * row]..ranges[2 * row + 1] {
            let x = &x[row as usize * width..][..width];
            out.iter_mut().zip(x).for_each(|(sum, x)| *sum += x);
        }
    });
}
