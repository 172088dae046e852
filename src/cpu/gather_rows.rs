//! Rows by number.

use super::parallel::for_each_row;

/// Copies rows: `out[r] = first[rows[r]]`, or, for numbers from the rows of `first` on, those of `second`. All have
/// `width` columns. Panics if a number is beyond both.
pub fn gather_rows([first, second]: [&[f32]; 2], rows: &[u32], width: usize, out: &mut [f32]) {
    for_each_row(out, width, width, |row, out| {
        let start = rows[row] as usize * width;
        let from = match start.checked_sub(first.len()) {
            None => &first[start..],
            Some(start) => &second[start..],
        };
        out.copy_from_slice(&from[..width]);
    });
}
