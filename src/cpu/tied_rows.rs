//! Gradients of rows that are one parameter.

/// Replaces each row of `gradient` by the sum of its group; `gathered` has the sums in the first row of each group, and
/// zeros in the others.
///
/// * `first_rows`: the first row of each row's group; `gradient`, `gathered`: `[rows, width]`
pub fn tie_gradients(first_rows: &[u32], width: usize, gradient: &mut [f32], gathered: &mut [f32]) {
    gathered.fill(0.0);
    for (first, row) in first_rows.iter().zip(gradient.chunks_exact(width)) {
        let sum = &mut gathered[*first as usize * width..][..width];
        sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
    }
    for (first, row) in first_rows.iter().zip(gradient.chunks_exact_mut(width)) {
        row.copy_from_slice(&gathered[*first as usize * width..][..width]);
    }
}
